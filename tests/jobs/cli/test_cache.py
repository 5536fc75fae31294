"""``cocite cache``: tables and JSON of what was copied, and what is removed and what stays."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.command_line import call

from cocite_jobs.storage.cache import cache_folder, cache_key, fetch_local, mark_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.use_marks import release_all

DAY_S = 24 * 3600


@pytest.fixture
def copies(remote: str, tmp_path: Path) -> tuple[str, str]:
    """URIs of what was copied, the first ten days ago, which no process uses."""
    uris = (f"{remote}/corpus", f"{remote}/model")
    for uri in uris:
        Location.of(uri).put(write_artifact(tmp_path / "made"))
        fetch_local(uri)
    release_all()
    then = time.time() - 10 * DAY_S
    os.utime(mark_of(cache_folder() / cache_key(Location.of(uris[0]))), (then, then))
    return uris


def test_copies_are_listed(copies: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    fetch_local(copies[1])
    code, out, _ = call(capsys, "cache", "list", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["folder"] == str(cache_folder())
    assert [copy["source"] for copy in found["copies"]] == list(copies)
    assert [copy["in_use"] for copy in found["copies"]] == [False, True]
    assert found["bytes"] == sum(copy["bytes"] for copy in found["copies"]) > 0
    code, out, _ = call(capsys, "cache", "list")
    assert code == 0
    for copy in found["copies"]:
        [line] = [line for line in out.splitlines() if copy["source"] in line]
        assert copy["name"] in line
        assert ("yes" in line) == copy["in_use"]


def test_old_copies_are_removed(copies: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "0 removed, 0.0 MB in all" in call(capsys, "cache", "remove", "--older-than", 11)[1]
    code, out, _ = call(capsys, "cache", "remove", "--older-than", 9.5)
    assert code == 0
    assert f"{copies[0]}: 0.0 MB removed\n1 removed, 0.0 MB in all\n" in out
    [left] = json.loads(call(capsys, "cache", "list", "--json")[1])["copies"]
    assert left["source"] == copies[1]


def test_all_are_removed_but_those_in_use(
    copies: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_local(copies[1])
    code, out, _ = call(capsys, "cache", "remove", "--all")
    assert code == 0
    assert f"{copies[1]}: in use, 0.0 MB stay\n1 removed" in out
    release_all()
    code, out, _ = call(capsys, "cache", "remove", "--all", "--json")
    assert code == 0
    done = json.loads(out)
    assert [copy["source"] for copy in done["removed"]] == [copies[1]]
    assert done["in_use"] == []
    assert done["bytes"] == done["removed"][0]["bytes"] > 0
    assert list(cache_folder().iterdir()) == []


def test_a_named_copy_that_is_in_use_is_an_error(
    copies: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_local(copies[1])
    code, out, err = call(capsys, "cache", "remove", *copies)
    assert code == 4
    assert f"{copies[0]}: 0.0 MB removed" in out
    assert err == f"cocite: {copies[1]}: a process that has asked for it is at work (wait until it ends)\n"
    code, _, err = call(capsys, "cache", "remove", copies[0])
    assert code == 2
    assert err.startswith(f"cocite: {copies[0]}: nothing was copied from there (")


def test_an_empty_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "none"))
    code, out, _ = call(capsys, "cache", "list", "--json")
    assert (code, json.loads(out)["copies"]) == (0, [])
    assert call(capsys, "cache", "list")[0] == 0
    assert call(capsys, "cache", "remove", "--all")[0] == 0
    assert not (tmp_path / "none").exists()

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cocite.artifacts import publish
from cocite.destinations import check_file_destination, check_folder_destination
from cocite.errors import InputError
from cocite.manifests import read_manifest


def test_nothing_else_is_written_into_an_artifact(tmp_path: Path) -> None:
    with publish(tmp_path / "art", kind="thing", meta={}) as folder:
        (folder / "a").write_text("x")
    for place in (tmp_path / "art", tmp_path / "art" / "deep" / "er"):
        with pytest.raises(InputError, match="is a thing, which holds only what its"):
            check_folder_destination(place)
        with pytest.raises(InputError, match="is a thing, which holds only what its"):
            check_file_destination(place / "file")
    with pytest.raises(InputError, match="is a thing"), publish(tmp_path / "art" / "b", kind="x", meta={}):
        pass
    assert (
        set(read_manifest(tmp_path / "art").files)
        == {"a"}
        == set(os.listdir(tmp_path / "art")) - {"manifest.json"}
    )


def test_a_folder_with_a_manifest_of_something_else_is_no_artifact(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    check_folder_destination(tmp_path)
    check_file_destination(tmp_path / "run")


def test_a_file_is_never_written_over_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("q")
    (tmp_path / "link").symlink_to("queries")
    with pytest.raises(InputError, match="is read by this command"):
        check_file_destination(tmp_path / "link", None, tmp_path / "missing", tmp_path / "queries")
    check_file_destination(tmp_path / "new", tmp_path / "queries")
    check_file_destination(None, tmp_path / "queries")


def test_a_file_above_the_destination_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop"):
        with pytest.raises(InputError, match=f"{name}: is a file, not a folder"):
            check_folder_destination(tmp_path / name / "deep")
    with pytest.raises(InputError, match="is a folder, not a file"):
        check_file_destination(tmp_path)

"""Counts of the day that outlive a gateway; through the whole application: test_keys.py."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from cocite_serve.http import key_counts
from cocite_serve.http.key_counts import keeping
from cocite_serve.settings import LogSettings


class Counts:
    """Counts that a test sets."""

    def __init__(self, used: dict[str, int] | None = None) -> None:
        self.day, self.used = 20_784, used or {}
        self.resumed: list[tuple[int, Mapping[str, int]]] = []

    def counts(self) -> tuple[int, dict[str, int]]:
        return self.day, dict(self.used)

    def resume(self, day: int, used: Mapping[str, int]) -> None:
        self.resumed.append((day, used))
        self.used = dict(used)


def test_each_gateway_has_a_file_and_the_next_one_goes_on_with_it(tmp_path: Path) -> None:
    settings = LogSettings(folder=tmp_path)

    async def run() -> None:
        async with keeping(Counts({"web": 1}), settings), keeping(Counts({"web": 2}), settings):
            pass
        third, fourth = Counts(), Counts()
        async with keeping(third, settings), keeping(fourth, settings):
            pass
        assert (third.resumed, fourth.resumed) == ([(20_784, {"web": 1})], [(20_784, {"web": 2})])

    asyncio.run(run())
    assert sorted(path.name for path in tmp_path.glob("keys-*")) == ["keys-0.json", "keys-1.json"]


def test_what_changes_is_written_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_counts, "WRITE_S", 0.01)
    counts, path = Counts(), tmp_path / "keys-0.json"

    async def run() -> None:
        async with keeping(counts, LogSettings(folder=tmp_path)):
            counts.used["web"] = 7
            for _ in range(1_000):
                await asyncio.sleep(0.01)
                if path.exists():
                    break
            assert json.loads(path.read_text()) == {"day": 20_784, "used": {"web": 7}}

    asyncio.run(run())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"day": 1}', '{"day": 1, "used": {"web": "many"}}'])
def test_a_file_that_cannot_be_read_is_told_and_written_anew(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys-0.json").write_text(text)
    counts = Counts({"web": 1})

    async def run() -> None:
        async with keeping(counts, LogSettings(folder=tmp_path)):
            pass

    with caplog.at_level(logging.WARNING, "ray.serve"):
        asyncio.run(run())
    assert "cannot be read; they begin anew" in caplog.text
    assert json.loads((tmp_path / "keys-0.json").read_text())["used"] == {"web": 1}


def test_without_a_folder_the_gateway_answers_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")

    async def run() -> None:
        async with keeping(Counts(), LogSettings(folder=tmp_path / "file" / "logs")):
            pass

    with caplog.at_level(logging.WARNING, "ray.serve"):
        asyncio.run(run())
    assert "no counts are kept" in caplog.text

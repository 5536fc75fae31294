from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.records import paper, rejects

from cocite.corpus.builder import build
from cocite.corpus.records import Record
from cocite.corpus.streams import FileRecordStream, RecordStream, SourcePosition
from cocite.errors import InputError


class Lines:
    """Papers of made-up lines; every second one has no title."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.position = SourcePosition("made-up")

    def __iter__(self) -> Iterator[Record]:
        for number in range(self.count):
            self.position.line = 10 * (number + 1)
            yield paper(str(number), title="" if number % 2 else "T")


class FileOfLines(Lines):
    """The same, read from a file as it says."""

    path = Path("made-up")


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (SourcePosition("f", 3), "f:3"),
        (SourcePosition("f"), "f"),
        (SourcePosition(), ""),
        (SourcePosition("", 3), ":3"),
    ],
)
def test_a_position_reads_as_file_and_line(position: SourcePosition, text: str) -> None:
    assert str(position) == text


def test_a_stream_gives_the_position_of_what_is_rejected(tmp_path: Path) -> None:
    assert isinstance(Lines(1), RecordStream)
    assert not isinstance(Lines(1), FileRecordStream)
    build(Lines(4), tmp_path / "store", rejects=tmp_path / "r.jsonl")
    assert [(entry["file"], entry["line"]) for entry in rejects(tmp_path / "r.jsonl")] == [
        ("made-up", 20),
        ("made-up", 40),
    ]


def test_only_a_file_without_papers_is_refused(tmp_path: Path) -> None:
    """A program may make an empty store; who names a file wants its papers."""
    assert len(build(Lines(0), tmp_path / "store")) == 0
    assert isinstance(FileOfLines(0), FileRecordStream)
    with pytest.raises(InputError, match="^made-up: no paper can be kept: it holds none"):
        build(FileOfLines(0), tmp_path / "other")

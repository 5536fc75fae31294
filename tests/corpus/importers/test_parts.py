from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from helpers.records import write_lines
from helpers.staged import records_in_parts
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers import open_source
from cocite.corpus.importers.parts import SourcePart, byte_ranges
from cocite.corpus.starter import PAPERS


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 30))
def test_ranges_are_of_whole_lines_and_cover_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], size: int
) -> None:
    file = tmp_path_factory.mktemp("file") / "x"
    content = b"\n".join([b"x", *lines])
    file.write_bytes(content)
    pieces = [content[first:last] for first, last in byte_ranges(file, size)]
    assert b"".join(pieces) == content
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert all(len(piece) <= size + 10 for piece in pieces)


def test_a_packed_file_is_one_part(tmp_path: Path) -> None:
    file = tmp_path / "x.gz"
    file.write_bytes(gzip.compress(b"line\n" * 1000))
    assert byte_ranges(file, 10) == [(0, file.stat().st_size)]


def test_an_array_is_one_part(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"id": 1, "title": "A"},\n{"id": 2, "title": "B"}]')
    parts = open_source(tmp_path / "x.json").parts(10)
    assert [(part.first, part.last, part.continues) for part in parts] == [(0, None, False)]


@pytest.mark.parametrize("size", [1000, 50_000, 1 << 30])
def test_the_records_of_the_parts_are_those_of_the_source(size: int) -> None:
    source = open_source(PAPERS)
    assert [record for record, _ in records_in_parts(source, size)] == list(open_source(PAPERS))


def test_lines_are_numbered_from_the_part(tmp_path: Path) -> None:
    source = open_source(write_lines(tmp_path / "x.jsonl", [{"id": n, "title": "T"} for n in range(4)]))
    assert [at for _, at in records_in_parts(source, 40)] == ["x.jsonl:1", "x.jsonl:2"] * 2
    assert source.done <= source.total


def test_the_first_part_reports_what_is_not_read() -> None:
    assert SourcePart().is_first
    assert SourcePart(0).is_first
    assert not SourcePart(0, first=9).is_first
    assert not SourcePart(1).is_first

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.corpus.importers import line_blocks, open_source
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.line_blocks import LineBlock
from cocite.corpus.record_block import RecordBlock

GOOD = b'{"id": "a", "title": "A"}\n'


@pytest.mark.parametrize(
    "bad",
    [b"\n", b" " + GOOD, b"[]\n", b'{"id": 7}\n', b'{"id": "a", "id": "b"}\n', b'{"colour": null}\n',
     b'{"id": "\xff"}\n', b'{"id": "\\ud800"}\n', b'{"context": null}\n', b'{"section" : null}\n',
     b'{"\\u0069d": "a"}\n', GOOD[:-1] + GOOD, b'{"id": "a"\n', b'{"year": 1.0}\n',
     b'{"citations": [7]}\n', b'\xef\xbb\xbf{"id": "a"}\n'],
)  # fmt: skip
def test_a_line_that_python_may_read_otherwise_is_left_to_it(
    bad: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "SMALLEST", 1)
    _, lines, others = LineBlock(GOOD + bad + GOOD[:-1]).columns()
    assert lines.tolist() == [0, 2]
    assert others.tolist() == ([] if bad.isspace() else [1])


@pytest.mark.parametrize(
    "good", [GOOD[:-1] + b"\r\n", b'{"abstract": null}\n', b'{"id": "\\u00e9 \\ud835\\udc00"}\n']
)
def test_a_line_that_both_read_alike_is_read_by_columns(good: bytes) -> None:
    assert LineBlock(GOOD + good).columns()[1].tolist() == [0, 1]


def test_an_object_over_two_lines_is_no_line() -> None:
    block = LineBlock(b'{"id": "a"}{"citations": [\n"{", "}"]}\n')
    assert block.columns()[1].tolist() == []


@pytest.mark.parametrize("size", [None, 2 * len(GOOD)])
def test_blocks_are_whole_lines(tmp_path: Path, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_blocks, "BLOCK", 30)
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD * 5)
    with InputFile(path) as stream:
        blocks = list(line_blocks.line_blocks(stream, size))
    assert b"".join(block.data for block in blocks) == GOOD * (5 if size is None else 2)
    assert all(block.data.endswith(b"\n") for block in blocks)


def test_of_a_line_that_is_too_long_the_beginning_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("line_blocks", "json_values"):
        monkeypatch.setattr(f"cocite.corpus.importers.{module}.MAX_LINE", 1 << 10)
        monkeypatch.setattr(f"cocite.corpus.importers.{module}.CHUNK", 1 << 8)
    monkeypatch.setattr(line_blocks, "BLOCK", 100)
    long = json.dumps({"id": "b", "title": "B" * 5000}).encode() + b"\n"
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD + long + GOOD)
    found = []
    source = open_source(path)
    for block in source.record_blocks():
        assert isinstance(block, RecordBlock)
        assert len(block.columns) + len(block.others)
        found += [record.reason for line in block.others.tolist() for record in block.read(line, 0)]
    assert found == ["the line is longer than 0 MiB"]
    assert source.position.line == 3


def test_blocks_whose_lines_are_refused_are_read_one_by_one_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "BLOCK", 1)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"id": 7, "title": "B"}\n' + GOOD * 20)
    blocks = [block for block in open_source(path).record_blocks() if isinstance(block, RecordBlock)]
    assert [len(block.columns) for block in blocks] == [0] * (1 + line_blocks.PAUSE) + [1] * 5

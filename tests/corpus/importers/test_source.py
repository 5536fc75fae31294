from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.records import write_lines

from cocite.corpus.importers.source import FIRST, JSONLines, first_objects
from cocite.corpus.importers.values import FieldError
from cocite.corpus.records import CitationRecord, Malformed, Record
from cocite.errors import InputError


class Pairs(JSONLines):
    """Each object names a citing paper and a list of cited ones."""

    format = "pairs"

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        for cited in value["to"]:
            if cited is None:
                raise FieldError("to", "a list of ids", value["to"])
            yield CitationRecord(value["from"], cited)


def test_each_record_has_the_position_of_its_object(tmp_path: Path) -> None:
    write_lines(tmp_path / "b.jsonl", [{"from": "a", "to": ["b", "c"]}, "", {"from": "b", "to": ["c"]}])
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'[{"from": "x", "to": ["y"]}]'))
    (tmp_path / "notes.txt").write_text("not read")
    source = Pairs(tmp_path)
    found = [(record, str(source.position)) for record in source]
    assert found == [
        (Malformed("the file is not read", rule="unread_file"), "notes.txt"),
        (CitationRecord("x", "y"), "a.json.gz:1"),
        (CitationRecord("a", "b"), "b.jsonl:1"),
        (CitationRecord("a", "c"), "b.jsonl:1"),
        (CitationRecord("b", "c"), "b.jsonl:3"),
    ]
    assert (
        source.done
        == source.total
        == sum((tmp_path / name).stat().st_size for name in ("a.json.gz", "b.jsonl"))
    )


def test_a_source_is_read_again_from_the_beginning(tmp_path: Path) -> None:
    source = Pairs(write_lines(tmp_path / "x.jsonl", [{"from": "a", "to": ["b"]}] * 3))
    assert list(source) == list(source)
    assert source.done == source.total


def test_a_field_that_does_not_fit_ends_its_object_alone(tmp_path: Path) -> None:
    values = [{"from": "a", "to": ["b", None, "c"]}, {"from": "d", "to": ["e"]}]
    first, broken, last = Pairs(write_lines(tmp_path / "x.jsonl", values))
    assert (first, last) == (CitationRecord("a", "b"), CitationRecord("d", "e"))
    assert broken == Malformed(
        "to must be a list of ids, not a list", "to", excerpt='{"from": "a", "to": ["b", null, "c"]}'
    )


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.jsonl or \.json file"):
        Pairs(tmp_path)


def test_a_format_is_recognised_by_a_files_first_objects(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [3, *({"n": n} for n in range(100))])
    assert first_objects(path) == [{"n": n} for n in range(FIRST - 1)]

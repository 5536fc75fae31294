from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers import json_values
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.json_items import has_items, json_items
from cocite.corpus.records import Malformed
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

OBJECTS = st.dictionaries(st.text(max_size=3), st.text(max_size=5) | st.integers(), max_size=3)
PAGES = st.lists(st.tuples(st.lists(OBJECTS, max_size=4), OBJECTS), min_size=1, max_size=3)


@given(PAGES, st.sampled_from([None, 0, 3]), st.sampled_from(["", "\n"]), st.integers(4, 64))
def test_pages_are_their_items(
    tmp_path: Path, pages: list[tuple[list[Any], dict[str, Any]]], indent: int | None, end: str, chunk: int
) -> None:
    """However they are written, whatever stands beside the items, and wherever a piece that is read ends."""
    path = tmp_path / "x.json"
    written = [json.dumps({"items": items, "rest": rest}, indent=indent) for items, rest in pages]
    path.write_text(end.join(written), encoding="utf-8")
    assert has_items(path)
    with pytest.MonkeyPatch.context() as patch, InputFile(path) as stream:
        patch.setattr(json_values, "CHUNK", chunk)
        assert list(json_items(stream, SourcePosition())) == [item for items, _ in pages for item in items]


def test_lines_are_those_of_the_items_and_what_is_no_object_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{\n "items": [{"DOI":\n "A"},\n 3\n]}\n'))
    position = SourcePosition()
    assert has_items(path)
    with InputFile(path) as stream:
        found = [(position.line, value) for value in json_items(stream, position)]
    assert found == [
        (2, {"DOI": "A"}),
        (4, Malformed("a JSON object is expected, not int", excerpt="3")),
    ]


@pytest.mark.parametrize("text", ["", "{}", '{"items": {}}', '[{"items": []}]', '{"total": 1, "items": []}'])
def test_other_files_have_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert not has_items(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"items": [', "the JSON object has no end: the file is cut short"),
        ('{"items": [{"a": 1}', "the JSON object has no end: the file is cut short"),
        ('{"items": [{"a": 1}]', "the JSON object has no end: the file is cut short"),
        ('{"items": [{"a": 1', r"x\.json:1: not valid JSON"),
        ('{"items": []}\n[]', "an object with a list `items` is expected"),
        ('{"items"; []}', "a name and a colon are expected"),
        ('{"items": [' + "[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_not_valid_ends_the_reading(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with InputFile(tmp_path / "x.json") as stream, pytest.raises(InputError, match=reason):
        list(json_items(stream, SourcePosition()))


def test_a_page_may_be_longer_than_the_longest_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is bounded by the items, not by the page."""
    monkeypatch.setattr(json_values, "MAX_LINE", 1 << 10)
    monkeypatch.setattr(json_values, "CHUNK", 1 << 8)
    items = [{"DOI": f"10.1/{number}", "title": "x" * 100} for number in range(200)]
    (tmp_path / "x.json").write_text(json.dumps({"items": items}))
    with InputFile(tmp_path / "x.json") as stream:
        assert list(json_items(stream, SourcePosition())) == items
    (tmp_path / "x.json").write_text(json.dumps({"items": [{"title": "x" * (1 << 14)}]}))
    with InputFile(tmp_path / "x.json") as stream, pytest.raises(InputError, match="not valid JSON"):
        list(json_items(stream, SourcePosition()))

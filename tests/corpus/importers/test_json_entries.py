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
from cocite.corpus.importers.json_entries import json_entries
from cocite.corpus.records import Malformed
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

VALUES = st.dictionaries(st.text(max_size=3), st.text(max_size=5) | st.integers(), max_size=3)


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=8),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
    st.integers(4, 64),
)
def test_an_object_is_its_entries(
    tmp_path: Path, entries: dict[str, Any], indent: int | None, ascii_only: bool, chunk: int
) -> None:
    """However it is written, and wherever a piece that is read ends."""
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps(entries, indent=indent, ensure_ascii=ascii_only) + "\n", encoding="utf-8", newline=""
    )
    with pytest.MonkeyPatch.context() as patch, InputFile(path) as stream:
        patch.setattr(json_values, "CHUNK", chunk)
        assert list(json_entries(stream, SourcePosition())) == list(entries.items())


def test_lines_are_those_of_the_names_and_what_is_no_object_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b'{\n "a": {"title":\n "A"},\n "b": 3\n}\n'))
    position = SourcePosition()
    with InputFile(path) as stream:
        found = [(name, position.line, value) for name, value in json_entries(stream, position)]
    assert found == [
        ("a", 2, {"title": "A"}),
        ("b", 4, Malformed("a JSON object is expected, not int", excerpt="3")),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "one JSON object is expected, with an entry for each id"),
        ('[{"id": "a"}]', "one JSON object is expected, with an entry for each id"),
        ("{", "the JSON object has no end: the file is cut short"),
        ('{"a"', "the JSON object has no end: the file is cut short"),
        ('{"a":', "the JSON object has no end: the file is cut short"),
        ('{"a": {}', "the JSON object has no end: the file is cut short"),
        ('{"a": {"title": "A', r"x\.json:1: not valid JSON"),
        ('{"a": {}}\n{"b": {}}', "not valid JSON: text follows the end of the object"),
        ('{"a"; {}}', "a name and a colon are expected"),
        ("{3: {}}", "a name and a colon are expected"),
    ],
)
def test_what_is_no_object_ends_the_reading(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with InputFile(tmp_path / "x.json") as stream, pytest.raises(InputError, match=reason):
        list(json_entries(stream, SourcePosition()))


def test_an_entry_is_no_longer_than_the_longest_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is bounded by it, and the error comes before the whole file is read."""
    monkeypatch.setattr(json_values, "MAX_LINE", 1 << 12)
    monkeypatch.setattr(json_values, "CHUNK", 1 << 8)
    (tmp_path / "x.json").write_text('{"a": {"title": "' + "x" * (1 << 16) + '"}}')
    with InputFile(tmp_path / "x.json") as stream, pytest.raises(InputError, match="not valid JSON"):
        list(json_entries(stream, SourcePosition()))

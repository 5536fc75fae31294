from __future__ import annotations

import math
from pathlib import Path

import pytest

from cocite.errors import IntegrityError
from cocite.evaluation.report import MarkedFloat, Table
from cocite_jobs.reproduction.record import MadeExhibit, Records
from cocite_jobs.storage.location import Location

CELLS = ["BM25", 3, 0.25, MarkedFloat(0.5, "*"), MarkedFloat(0.5), math.nan, ""]
MADE = MadeExhibit(
    "table2", Table("Table 2", list("abcdefg"), [CELLS], "a note"), 1.5, [{"model": "m", "step": 3}]
)


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    records = Records(Location.of(str(tmp_path)))
    records.add("key", MADE)
    found = records.find("key", "table2")
    assert found is not None
    [row] = found.table.rows
    assert row[:5] == CELLS[:5]
    assert [type(cell) for cell in row] == [type(cell) for cell in CELLS]
    assert row[3].mark == "*"
    assert math.isnan(row[5])
    assert (found.table.note, found.seconds, found.models) == ("a note", 1.5, [{"model": "m", "step": 3}])


def test_what_was_made_of_something_else_is_not_found(tmp_path: Path) -> None:
    records = Records(Location.of(str(tmp_path)))
    records.add("key", MADE)
    assert records.find("other", "table2") is None
    assert records.find("key", "table3") is None


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    records = Records(Location.of(str(tmp_path)))
    records.add("key", MADE)
    path = tmp_path / "table2.json"
    path.write_text(path.read_text().replace('"columns"', '"colums"'))
    with pytest.raises(IntegrityError, match=r"table2.json: is no record of a table \(remove it"):
        records.find("key", "table2")
    path.write_text("{")
    with pytest.raises(IntegrityError, match="is no record of a finished part"):
        records.find("key", "table2")

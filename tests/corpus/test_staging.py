from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import hits, make, paper

from cocite.corpus.records import (
    ContextRecord,
    Malformed,
    Record,
)
from cocite.errors import InputError


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (paper("a"), "record:3: id: an earlier paper has this id"),
        (paper("z", title=""), "record:3: title: the paper has no title"),
        (paper("z", year=99), "record:3: year: the year 99"),
        (paper("z", abstract="\ud800"), "record:3: abstract: broken"),
        (Malformed("not JSON"), "record:3: not JSON"),
        (ContextRecord("c", "a", ("b",), ""), "record:3: context: "),
    ],
)
def test_strict_stops_at_the_first_bad_record(tmp_path: Path, record: Record, message: str) -> None:
    records = [paper("a"), paper("b"), record, paper("", title="")]
    with pytest.raises(InputError, match=message):
        make(tmp_path, records, strict=True)
    assert not list(tmp_path.iterdir())
    assert len(make(tmp_path, records)) >= 2


def test_strict_allows_links_out_of_the_source(tmp_path: Path) -> None:
    assert hits(make(tmp_path, [paper("a", "x", "a")], strict=True)) == {
        "self_citation": 1,
        "unknown_citation": 1,
    }

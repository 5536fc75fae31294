from __future__ import annotations

import json
from pathlib import Path

from helpers.records import (
    records_of,
    write_lines,
)
from helpers.s2orc import full_text

from cocite.corpus.records import ContextRecord, Malformed


def test_s2_spans_that_are_broken_are_reported(tmp_path: Path) -> None:
    value = full_text(1)
    value["content"]["annotations"]["bibref"] = "[{"
    path = write_lines(tmp_path / "x.jsonl", [value, full_text(1)])
    found = records_of(path)
    assert [r.field for r in found if isinstance(r, Malformed)] == ["annotations.bibref"]
    value["content"]["annotations"]["bibref"] = json.dumps(
        [{"start": 5, "end": 10**9}, {"start": -1, "end": 3}]
    )
    assert not [r for r in records_of(write_lines(path, [value])) if isinstance(r, ContextRecord)]

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.records import (
    unknown_fields,
    write_lines,
)

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.corpus.rule_log import UNKNOWN_FIELDS, RuleLog
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError


def test_unknown_fields_are_counted_by_name_with_their_first_place(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "x.jsonl",
        [
            {"id": "a", "title": "A", "year": 2000},
            {"id": "b", "title": "B", "references": ["a"], "keywords": ["k"]},
            {
                "id": "c",
                "title": "C",
                "references": None,
                "authors": [{"name": "N", "orcid": 1}, {"name": "M"}],
            },
            {"id": "d", "title": "D", "contexts": [{"cited": "a", "text": "see [CIT]", "refs": 1}]},
            {"paper": "d", "text": "s", "index": 3},
        ],
    )
    corpus = build(open_source(source), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
    assert len(corpus) == 4
    assert unknown_fields(corpus) == {
        "references": (2, "x.jsonl:2", "citations"),
        "keywords": (1, "x.jsonl:2", "keyphrases"),
        "authors.orcid": (1, "x.jsonl:3", ""),
        "contexts.refs": (1, "x.jsonl:4", "contexts.cited"),
        "index": (1, "x.jsonl:5", "position"),
    }
    assert corpus.counts["rules"]["unknown_field"] == 6
    entries = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [entry["field"] for entry in entries] == list(unknown_fields(corpus))
    assert entries[0]["reason"] == "a paper has no such field; did you mean 'citations'?"


def test_a_strict_import_refuses_unknown_fields(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "x.jsonl", [{"id": "a", "title": "A"}, {"id": "b", "title": "B", "refs": []}]
    )
    with pytest.raises(
        InputError, match=r"x\.jsonl:2: refs: a paper has no such field; did you mean 'citations'\?"
    ):
        build(open_source(source), tmp_path / "store", strict=True)
    assert not (tmp_path / "store").exists()


def test_ever_new_names_take_bounded_memory() -> None:
    log = RuleLog()
    for number in range(3 * UNKNOWN_FIELDS):
        log.report_unknown_fields("paper", [f"f{number}" * 100], SourcePosition("x", number + 1))
    assert len(log.unknown_fields) == UNKNOWN_FIELDS
    assert log.counts["unknown_field"] == 3 * UNKNOWN_FIELDS
    assert max(len(entry["field"]) for entry in log.unknown_fields.values()) <= 80

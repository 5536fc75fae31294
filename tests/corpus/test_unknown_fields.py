from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.records import write_lines
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.fields import NESTED, RECORDS, suggest
from cocite.corpus.importers import open_source
from cocite.corpus.rule_log import UNKNOWN_FIELDS, RuleLog
from cocite.corpus.store import Corpus
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError


def unknown(corpus: Corpus) -> dict[str, tuple[int, str, str]]:
    """Field -> (count, first place, suggestion), as the manifest has them."""
    entries = corpus.manifest.meta["unknown_fields"]
    return {entry["field"]: (entry["count"], entry["first"], entry["suggestion"]) for entry in entries}


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
    assert unknown(corpus) == {
        "references": (2, "x.jsonl:2", "citations"),
        "keywords": (1, "x.jsonl:2", "keyphrases"),
        "authors.orcid": (1, "x.jsonl:3", ""),
        "contexts.refs": (1, "x.jsonl:4", "contexts.cited"),
        "index": (1, "x.jsonl:5", "position"),
    }
    assert corpus.counts["rules"]["unknown_field"] == 6
    entries = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert [entry["field"] for entry in entries] == list(unknown(corpus))
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


def test_unknown_columns_are_counted_and_citations_of_papers_are_read(tmp_path: Path) -> None:
    tables: dict[str, dict[str, Any]] = {
        "papers": {"id": ["a", "b"], "title": ["A", "B"], "citations": [[], ["a"]], "journal": ["J", None]},
        "contexts": {
            "id": [0],
            "citing": ["b"],
            "cited": [["a"]],
            "context": ["[CIT]"],
            "split": ["test"],
            "x": [1],
        },
        "sentences-0": {"id": ["b"], "position": [0.0], "text": ["s"], "page": [1]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"citing": ["b"], "cited": ["a"]}), tmp_path / "citation.parquet")
    corpus = build(open_source(tmp_path), tmp_path / "store")
    assert unknown(corpus) == {
        "journal": (2, "papers.parquet", "venue"),
        "x": (1, "contexts.parquet", ""),
        "page": (1, "sentences-0.parquet", ""),
    }
    assert corpus.cites[1].tolist() == [0]
    assert corpus.counts["rules"]["unread_file"] == 1
    assert corpus.manifest.meta["samples"]["unread_file"][0]["file"] == "citation.parquet"
    pq.write_table(
        pa.table({"id": ["b"], "position": [0], "text": [["s"]]}), tmp_path / "sentences-1.parquet"
    )
    with pytest.raises(InputError, match=r"sentences-1\.parquet: not a readable Parquet file"):
        build(open_source(tmp_path), tmp_path / "store", replace=True)


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("paper", "references", "citations"),
        ("paper", "refs", "citations"),
        ("paper", "cites", "citations"),
        ("paper", "outCitations", "citations"),
        ("paper", "keywords", "keyphrases"),
        ("paper", "pub_year", "year"),
        ("paper", "publication-year", "year"),
        ("paper", "journal", "venue"),
        ("paper", "DOI", "doi"),
        ("paper", "_id", "id"),
        ("paper", "abstrct", "abstract"),
        ("paper", "zzz", ""),
        ("context", "n_unresolved", "unresolved"),
        ("context", "source", "citing"),
        ("paper", "source", "venue"),
        ("sentence", "sentence", "text"),
        ("paper", "contexts.references", "contexts.cited"),
        ("paper", "some.titel", "title"),
    ],
)
def test_the_field_that_was_meant_is_suggested(kind: str, name: str, field: str) -> None:
    assert suggest(kind, name) == field


@given(st.sampled_from(sorted(RECORDS)), st.text(max_size=12))
def test_a_suggestion_is_a_field_of_the_record(kind: str, name: str) -> None:
    field = suggest(kind, name)
    path, _, last = field.rpartition(".")
    assert not field or last in (NESTED[path] if path else RECORDS[kind])


def test_ever_new_names_take_bounded_memory() -> None:
    log = RuleLog()
    for number in range(3 * UNKNOWN_FIELDS):
        log.report_unknown_fields("paper", [f"f{number}" * 100], SourcePosition("x", number + 1))
    assert len(log.unknown_fields) == UNKNOWN_FIELDS
    assert log.counts["unknown_field"] == 3 * UNKNOWN_FIELDS
    assert max(len(entry["field"]) for entry in log.unknown_fields.values()) <= 80


def test_a_part_of_a_paper_that_does_not_fit_costs_that_part_alone(tmp_path: Path) -> None:
    contexts = [
        {"cited": "a", "text": "one [CIT]"},
        {"cited": [], "text": "two [CIT]"},
        3,
        {"cited": "a", "text": "[CIT] x"},
    ]
    sentences = ["s", 4, {"text": "t", "position": "soon"}, {"text": "u"}]
    source = write_lines(
        tmp_path / "x.jsonl",
        [{"id": "a", "title": "A"}, {"id": "b", "title": "B", "contexts": contexts, "sentences": sentences}],
    )
    corpus = build(open_source(source), tmp_path / "store")
    assert (len(corpus), len(corpus.contexts), len(corpus.sentences)) == (2, 2, 2)
    assert corpus.counts["rules"]["malformed"] == 4
    fields = [sample["field"] for sample in corpus.manifest.meta["samples"]["malformed"]]
    assert fields == ["contexts.cited", "contexts", "sentences", "sentences.position"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}],
            "2 rejected, 2 by the rule empty_title .*'name' may mean 'title'",
        ),
        (
            [{"id": "", "title": "A"}, {"id": "b", "title": 3.5, "year": "x"}, "no"],
            r"3 rejected, 2 by the rule malformed .*x\.jsonl:2",
        ),
        ([{"citing": "a", "cited": "b"}], "no paper can be kept: it holds none"),
        ([""], "no paper can be kept: it holds none"),
    ],
)
def test_a_source_without_a_paper_is_refused(tmp_path: Path, values: list[Any], reason: str) -> None:
    source = write_lines(tmp_path / "x.jsonl", values)
    with pytest.raises(InputError, match=rf"x\.jsonl: .*{reason}"):
        build(open_source(source, "jsonl"), tmp_path / "store", rejects=tmp_path / "rejects.jsonl")
    assert not (tmp_path / "store").exists()
    assert (tmp_path / "rejects.jsonl").exists() == ("rejected" in reason)


def test_a_field_given_twice_is_malformed(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "x.jsonl", ['{"id": "a", "title": "A", "id": "b"}', {"id": "c", "title": "C"}]
    )
    corpus = build(open_source(source), tmp_path / "store")
    assert corpus.ids([0]) == ["c"]
    assert "the field 'id' is given twice" in corpus.manifest.meta["samples"]["malformed"][0]["reason"]

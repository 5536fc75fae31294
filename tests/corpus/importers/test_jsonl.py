from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import (
    records_of,
    write_lines,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.records import CitationRecord, ContextRecord, Malformed, PaperRecord, SentenceRecord


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


def test_a_field_given_twice_is_malformed(tmp_path: Path) -> None:
    source = write_lines(
        tmp_path / "x.jsonl", ['{"id": "a", "title": "A", "id": "b"}', {"id": "c", "title": "C"}]
    )
    corpus = build(open_source(source), tmp_path / "store")
    assert corpus.ids([0]) == ["c"]
    assert "the field 'id' is given twice" in corpus.manifest.meta["samples"]["malformed"][0]["reason"]


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_native_lines(tmp_path: Path, name: str) -> None:
    own = {"cited": ["q"], "context": "see [CIT]", "group": 3, "unresolved": 1}
    path = write_lines(
        tmp_path / name,
        [
            {"id": 7, "title": "T", "authors": ["A", {"name": "B"}], "citations": ["q"], "year": "1999"},
            "",
            {"id": "p", "title": "P", "contexts": [own], "sentences": ["s0", {"text": "s1", "position": 5}]},
            {"citing": "p", "cited": ["q", "r"]},
            {"citing": "p", "cited": "q", "context": "a TARGETCIT b", "id": "c9"},
            {"paper": "p", "text": "s", "position": 9, "section": "End"},
        ],
    )
    assert detect(path) == "jsonl"
    found = records_of(path)
    assert found[0] == PaperRecord("7", "T", year=1999, authors=("A", "B"), citations=("q",))
    assert found[2] == ContextRecord("p/0", "p", ("q",), "see TARGETCIT", group=3, unresolved=1)
    assert found[3:5] == [SentenceRecord("p", 0, "s0"), SentenceRecord("p", 5, "s1")]
    assert found[5:7] == [CitationRecord("p", "q"), CitationRecord("p", "r")]
    assert found[7] == ContextRecord("c9", "p", ("q",), "a TARGETCIT b")
    assert found[8] == SentenceRecord("p", 9, "s", "End")


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"id": "p", "title": ["x"]}', "title"),
        ('{"id": "p", "title": "t", "year": "soon"}', "year"),
        ('{"id": "p", "title": "t", "year": 1e999}', "year"),
        ('{"id": "p", "title": "t", "authors": "me"}', "authors"),
        ('{"id": "p", "title": "t", "citations": [[]]}', "citations"),
        ('{"id": "p", "title": "t", "split": "all"}', "split"),
        ('{"id": "p", "title": "t", "contexts": 3}', "contexts"),
        ('{"id": "p", "title"', ""),
        ("[1]", ""),
        ("[" * 100_000, ""),
    ],
)
def test_a_broken_line_is_reported_with_its_field(tmp_path: Path, line: str, field: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"id": "a", "title": "A"}, line, {"id": "z", "title": "Z"}])
    source = open_source(path, "jsonl")
    found = [(record, source.position.line) for record in source]
    assert [record.id for record, _ in found if isinstance(record, PaperRecord)] == ["a", "z"]
    broken = [(record.field, at) for record, at in found if isinstance(record, Malformed)]
    assert broken == [(field, 2)]


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffd\ufeff"),
    max_size=20,
)


IDS = st.integers(0, 5).map("p{}".format)


@settings(max_examples=12)
@given(st.lists(st.tuples(IDS, TEXT, TEXT, st.lists(IDS, max_size=3), st.integers(1900, 2000)), max_size=6))
def test_import_round_trip(tmp_path: Path, rows: list[tuple[str, str, str, list[str], int]]) -> None:
    """What comes in through JSON lines, gzipped lines or Parquet is one and the same store."""
    values = [
        {"id": i, "title": t, "abstract": a, "year": y, "authors": [a], "citations": c}
        for i, t, a, c, y in [("first", "A paper that is kept", "", [], 2000), *rows]
    ]
    plain = build(
        open_source(write_lines(tmp_path / "x.jsonl", values), "jsonl"), tmp_path / "1", replace=True
    )
    zipped = build(open_source(write_lines(tmp_path / "x.gz", values), "jsonl"), tmp_path / "2", replace=True)
    assert plain.version == zipped.version
    back = [
        {
            "id": p.id,
            "title": p.title,
            "abstract": p.abstract,
            "year": p.year,
            "authors": p.authors,
            "citations": p.citations,
        }
        for p in plain.papers_at(range(len(plain)))
    ]
    again = build(open_source(write_lines(tmp_path / "y.jsonl", back), "jsonl"), tmp_path / "3", replace=True)
    assert again.version == plain.version
    assert not {"broken_unicode", "malformed"} & {name for name, n in plain.counts["rules"].items() if n}

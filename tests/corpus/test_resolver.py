from __future__ import annotations

from pathlib import Path

from helpers.records import hits, make, paper, rejects

from cocite.corpus.builder import build
from cocite.corpus.records import (
    CitationRecord,
    ContextRecord,
    Malformed,
    Record,
    SentenceRecord,
)
from cocite.corpus.rules import Limits


def test_each_rule_of_links(tmp_path: Path) -> None:
    records: list[Record] = [
        paper("a", "a", "b", "b", "nowhere", year=2000),
        paper("b", year=2001),
        paper("late", year=2005),
        paper("undated", "late", year=0),
        paper("a", "b", "late"),
        CitationRecord("a", "late"),
        CitationRecord("ghost", "a"),
        Malformed("broken", "field"),
    ]
    corpus = make(tmp_path, records, rejects=tmp_path / "r.jsonl")
    assert hits(corpus) == {
        "malformed": 1,
        "duplicate_id": 1,
        "self_citation": 1,
        "duplicate_citation": 1,
        "unknown_citation": 1,
        "unknown_citing": 1,
        "later_citation": 1,
        "next_year_citation": 2,
    }
    assert [corpus.cites[row].tolist() for row in range(4)] == [[1], [], [], [2]]
    written = {str(entry["rule"]): entry for entry in rejects(tmp_path / "r.jsonl")}
    assert written["duplicate_id"]["line"] == 5
    assert written["unknown_citation"]["cited"] == "nowhere"
    assert written["unknown_citation"]["citing"] == "a"
    assert {"later_citation", "self_citation", "malformed"} <= set(written)
    kept = build(records, tmp_path / "kept", limits=Limits(later_years=None))
    assert kept.cites[0].tolist() == [1, 2]


def test_each_rule_of_texts(tmp_path: Path) -> None:
    corpus = make(
        tmp_path,
        [
            paper("a", year=2000),
            paper("b", "a", year=2001),
            ContextRecord("1", "b", ("a", "b", "x"), "t TARGETCIT", unresolved=1),
            ContextRecord("1", "b", ("a",), "again"),
            ContextRecord("2", "b", ("x",), "t"),
            ContextRecord("3", "x", ("a",), "t"),
            ContextRecord("4", "b", ("a",), "  "),
            SentenceRecord("x", 0, "t"),
            SentenceRecord("b", 0, "\x00"),
        ],
        rejects=tmp_path / "r.jsonl",
    )
    assert hits(corpus) == {
        "broken_unicode": 1,
        "self_citation": 1,
        "duplicate_context": 1,
        "empty_context": 1,
        "context_of_unknown_paper": 1,
        "context_without_cited": 1,
        "context_unknown_cited": 2,
        "sentence_of_unknown_paper": 1,
        "empty_sentence": 1,
    }
    assert len(corpus.contexts) == 1
    # The member that the source could not resolve, and the one it does not hold.
    assert corpus.contexts.take("unresolved", [0]) == [2]
    lines = {entry["rule"]: entry["line"] for entry in rejects(tmp_path / "r.jsonl")}
    assert lines["context_of_unknown_paper"] == 6
    assert lines["sentence_of_unknown_paper"] == 8


def test_links_follow_from_contexts_when_there_are_no_others(tmp_path: Path) -> None:
    records: list[Record] = [
        paper("a"),
        paper("b"),
        ContextRecord("1", "b", ("a",), "t"),
        ContextRecord("2", "b", ("a",), "u"),
    ]
    assert build(records, tmp_path / "x").cites[1].tolist() == [0]
    assert build(records, tmp_path / "y", links_from_contexts=False).cites[1].tolist() == []
    more = [*records, paper("c", "a")]
    assert build(more, tmp_path / "z").cites[1].tolist() == []
    assert build(more, tmp_path / "w", links_from_contexts=True).cites[1].tolist() == [0]

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.records import hits, write_lines
from helpers.staged import import_parts, records_in_parts
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source, unarxive
from cocite.corpus.importers.unarxive import UnarXive
from cocite.corpus.records import ContextRecord, Malformed, PaperRecord, SentenceRecord

REFERENCES: dict[str, Any] = {
    "a1": {"bib_entry_raw": "A.", "ids": {"arxiv_id": "arXiv:1706.03762v5", "doi": "10.1/x"}},
    "b2": {"ids": {"doi": "https://doi.org/10.48550/arXiv.1810.04805"}},
    "c3": {"ids": {}, "contained_arXiv_ids": [{"id": "hep-th/9901001"}, {"id": "hep-th/9901001"}]},
    "d4": {"ids": {"doi": "10.1086/X", "open_alex_id": "https://openalex.org/W7"}},
    "e5": {"ids": {"open_alex_id": "https://openalex.org/W7", "doi": None}},
    "f6": {"ids": None, "contained_arXiv_ids": [{"id": "1001.0001"}, {"id": "1001.0002"}]},
    "g7": {},
}
PAPER: dict[str, Any] = {
    "paper_id": "2105.05862",
    "_pdf_hash": None,
    "_source_hash": "b7d5",
    "_source_name": "2105.05862.gz",
    "metadata": {
        "id": "2105.05862",
        "title": "Memory of\n  waves",
        "abstract": " We $x$.\n",
        "categories": "gr-qc",
        "journal-ref": None,
        "doi": None,
        "versions": [{"version": "v1", "created": "Wed, 12 May 2021 18:00:00 GMT"}],
        "authors_parsed": [["Lee", "Ann", ""]],
    },
    "discipline": "Physics",
    "abstract": {"section": "Abstract", "text": "We {{formula:f}}."},
    "body_text": [
        {
            "section": "Introduction",
            "content_type": "paragraph",
            "text": "Waves {{formula:f}} in\n {{figure:g}} last. As in {{cite:a1}}, {{cite:d4}} they pass. "
            "See {{cite:g7}}.",
        },
        {"section": "Method", "content_type": "paragraph", "text": "Unlike {{cite:none}} and {{cite:b2}}.\n"},
    ],
    "bib_entries": REFERENCES,
    "ref_entries": {"f": {"type": "formula", "latex": "S_{\\mu\n\\nu }"}, "g": {"caption": "A figure"}},
}


def other(number: str, **fields: Any) -> dict[str, Any]:
    """A paper without references."""
    metadata = {"title": f"Title {number}"}
    return PAPER | {"paper_id": number, "metadata": metadata, "body_text": [], "bib_entries": {}} | fields


def test_a_paper_with_its_body(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [PAPER])
    assert detect(path) == "unarxive"
    assert list(open_source(path)) == [
        PaperRecord(
            "2105.05862",
            "Memory of waves",
            "We $x$.",
            2021,
            authors=("Ann Lee",),
            keyphrases=("gr-qc",),
            doi="10.48550/arXiv.2105.05862",
            citations=("1706.03762", "1810.04805", "hep-th/9901001", "10.1086/x", "W7"),
        ),
        Malformed(
            "2 of 7 references of 2105.05862 are matched to no id",
            "bib_entries",
            "unmatched_citation",
            count=2,
        ),
        SentenceRecord("2105.05862", 0, "Waves $S_{\\mu \\nu }$ in last.", "Introduction"),
        SentenceRecord("2105.05862", 1, "As in [[CIT:0]] they pass.", "Introduction"),
        SentenceRecord("2105.05862", 2, "See [[CIT:1]].", "Introduction"),
        ContextRecord(
            "2105.05862/0",
            "2105.05862",
            ("1706.03762", "10.1086/x"),
            "Waves $S_{\\mu \\nu }$ in last. As in TARGETCIT they pass. See OTHERCIT.",
            1,
            "Introduction",
            0,
        ),
        SentenceRecord("2105.05862", 3, "Unlike [[CIT:2]].", "Method"),
        ContextRecord("2105.05862/2", "2105.05862", ("1810.04805",), "Unlike TARGETCIT .", 3, "Method", 2, 1),
    ]


@pytest.mark.parametrize("size", [100, 1 << 30])
def test_links_and_contexts_are_those_of_papers_that_are_there(tmp_path: Path, size: int) -> None:
    papers = [PAPER, other("1706.03762"), other("1810.04805")]
    path = write_lines(tmp_path / "x.jsonl", papers)
    corpus = build(open_source(path), tmp_path / "store")
    assert corpus.cites[0].tolist() == [1, 2]
    assert corpus.counts["contexts"] == 2
    assert hits(corpus) == {"unmatched_citation": 2, "unknown_citation": 3, "context_unknown_cited": 1}
    assert [r for r, _ in records_in_parts(open_source(path), size)] == list(open_source(path))
    assert import_parts(path, tmp_path / "divided", size).version == corpus.version


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": 3}, "metadata must be an object, not 3"),
        ({"bib_entries": {"a": 3}}, "a must be an object, not 3"),
        ({"bib_entries": {"a": {"ids": 3}}}, "ids must be an object, not 3"),
        ({"bib_entries": {"a": {"ids": {"doi": []}}}}, "doi must be text, not a list"),
        ({"body_text": "A"}, "body_text must be a list of objects, not 'A'"),
        ({"body_text": [{"text": ["A"]}]}, "text must be text, not a list"),
        ({"ref_entries": {"f": 3}, "body_text": PAPER["body_text"]}, "f must be an object, not 3"),
    ],
)
def test_a_paper_that_does_not_fit_is_rejected_alone(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = write_lines(tmp_path / "x.jsonl", [other("1"), other("2", **change), other("3")])
    first, broken, last = open_source(path)
    assert (first.id, last.id) == ("1", "3")
    assert broken.reason == reason


def test_a_body_that_formulas_make_too_long_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unarxive, "MAX_BODY", 1 << 20)
    paragraphs = [{"text": "{{formula:f}} " * 500, "section": "Long"}] * 50
    formula = {"f": {"latex": "x" * 1000}}
    path = write_lines(tmp_path / "x.jsonl", [other("1", body_text=paragraphs, ref_entries=formula)])
    paper, cut, *rest = open_source(path, "unarxive")
    assert (paper.id, cut.rule) == ("1", "too_long")
    assert cut.reason == "the body of 1 has more than 1 Mi characters; cut"
    assert 0 < sum(len(sentence.text) for sentence in rest) <= 1 << 20


def test_records_of_other_formats_are_not_recognised() -> None:
    s2orc = {"paper_id": "1", "metadata": {}, "abstract": [], "body_text": [], "bib_entries": {}}
    for value in ({"id": "a", "title": "A"}, s2orc, {"paper_id": "1", "discipline": "Physics"}):
        assert not UnarXive.recognises(value)


PIECES = st.lists(st.sampled_from(["{{cite:a1}}", "{{cite:b2}}", "{{cite:g7}}", "Word ", "and. ", " ", ", "]))


@given(st.lists(PIECES, max_size=4))
def test_each_matched_citation_is_in_one_context(tmp_path: Path, paragraphs: list[list[str]]) -> None:
    body = [{"text": "".join(pieces), "section": "S"} for pieces in paragraphs]
    (tmp_path / "x.jsonl").write_text(json.dumps(PAPER | {"body_text": body}))
    records = list(open_source(tmp_path / "x.jsonl", "unarxive"))
    contexts = [record for record in records if isinstance(record, ContextRecord)]
    for name, cited in (("a1", "1706.03762"), ("b2", "1810.04805")):
        marks = sum(f"{{{{cite:{name}}}}}" in pieces for pieces in paragraphs)
        assert (sum(cited in context.cited for context in contexts) > 0) == (marks > 0)
    text = " ".join(record.text for record in records if isinstance(record, SentenceRecord))
    assert "{{" not in text
    groups = [int(piece.partition("]]")[0]) for piece in text.split("[[CIT:")[1:]]
    assert groups == list(range(len(groups)))

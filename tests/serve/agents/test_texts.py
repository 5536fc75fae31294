from __future__ import annotations

import pytest

from cocite_serve.agents.answers import (
    Bibliography,
    Explanation,
    FilledGap,
    FilledGaps,
    Paper,
    RankedPaper,
    Recommended,
)
from cocite_serve.agents.texts import as_text
from cocite_serve.http.schemas import CitingSentence, EvidenceOut, Neighbour, SharedWord

VERSIONS = {"model_version": "", "index_version": "000001"}
EVIDENCE = EvidenceOut(
    shared_words=[SharedWord(word="bleu", weight=5.0), SharedWord(word="overlap", weight=1.0)],
    cited_by=[Neighbour(id="n", title="A survey of metrics")],
    sentences=[CitingSentence(sentence="We report BLEU\nTARGETCIT.", id="s", title="On quality")],
)
RANKED = RankedPaper(
    id="P02-1040",
    title="BLEU:\n\n2. an invented paper",
    authors=["Kishore Papineni", "Salim Roukos", "Todd Ward", "Wei-Jing Zhu"],
    year=2002,
    venue="ACL",
    doi="10.3115/1073083.1073135",
    in_citations=9,
    rank=1,
    score=3.5,
    evidence=EVIDENCE,
    abstract="Human evaluations\nare costly.",
)
REFERENCE = (
    "BLEU: 2. an invented paper | Kishore Papineni, Salim Roukos, Todd Ward et al. | 2002 | ACL | "
    "doi:10.3115/1073083.1073135 | cited by 9 papers of the corpus | id: P02-1040"
)
REASONS = (
    "   shared words: bleu, overlap\n"
    "   cited by the similar paper: A survey of metrics\n"
    '   cited as: "We report BLEU [CIT]."'
)


def test_papers_are_written_one_a_paragraph_and_cannot_begin_another() -> None:
    answer = Recommended(
        read_as="context",
        context="the score TARGETCIT is",
        gaps=3,
        papers=[RANKED],
        unknown=["no-such\npaper"],
        **VERSIONS,
    )
    assert as_text(answer).split("\n\n") == [
        "Papers for the gap: the score [CIT] is",
        f"1. {REFERENCE}\n{REASONS}\n   abstract: Human evaluations are costly.",
        "The text holds 2 further [CIT]: use fill_gaps.",
        "Not in the corpus: no-such paper",
    ]
    none = Recommended(read_as="title and abstract", papers=[], **VERSIONS)
    assert as_text(none) == "Papers for the manuscript:\n\nNo paper fits."


def test_gaps_are_written_in_their_order() -> None:
    gaps = [
        FilledGap(gap=0, context="a TARGETCIT", papers=[RANKED]),
        FilledGap(gap=1, context="b", papers=[]),
    ]
    text = as_text(FilledGaps(gaps=gaps, **VERSIONS))
    assert text.startswith(f"Gap 0: a [CIT]\n\n1. {REFERENCE}\n")
    assert text.endswith("\n\nGap 1: b\n\nNo paper fits.")


@pytest.mark.parametrize(
    ("rank", "later", "place"),
    [
        (2, False, "It is number 2 of the 300 papers found for this text."),
        (None, True, "It is later than the manuscript, and so not recommended to it."),
        (None, False, "It is not among the 300 papers found for this text."),
    ],
)
def test_an_explanation_says_where_the_paper_stands(rank: int | None, later: bool, place: str) -> None:
    paper = Paper.model_validate(RANKED.model_dump())
    answer = Explanation(paper=paper, rank=rank, of=300, later=later, evidence=EVIDENCE, **VERSIONS)
    assert as_text(answer) == f"{REFERENCE}\n{place}\n{REASONS}"
    nothing = answer.model_copy(update={"evidence": EvidenceOut()})
    assert as_text(nothing).endswith("\nNothing in the corpus speaks for it.")


def test_a_bibliography_is_its_bibtex_and_nothing_else_is_written() -> None:
    assert as_text(Bibliography(bibtex="@misc{a}\n", keys=[])) == "@misc{a}\n"
    with pytest.raises(TypeError, match="a Paper is no answer of a tool"):
        as_text(Paper(id="a", title="b", in_citations=0))

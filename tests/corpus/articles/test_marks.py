"""Places at which printed references are cited."""

from __future__ import annotations

import itertools

import pytest
from helpers.printed_lists import cited_by_name, listed_papers, printed
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.articles import marks
from cocite.corpus.articles.marks import UNKNOWN, citation_marks
from cocite.corpus.articles.printed_names import plain
from cocite.corpus.articles.references import split_references

NUMBERED = split_references([f"[{n}] A. Author{n}. Title number {n}. 20{n:02}." for n in range(1, 13)])
NAMED = split_references(
    [
        "Jacob Devlin and Kenton Lee. 2019a. BERT.",
        "Jacob Devlin, Ming-Wei Chang, and Kenton Lee. 2019b. More of it.",
        "Ann Lee. 2004. Trees.",
        "Ann Lee and Franz Josef Och. 2004. Graphs.",
        "Laurens van der Maaten and Geoffrey Hinton. 2008. Visualizing data using t-SNE.",
        "Thomas Müller. 2001. Words.",
        "Kishore Papineni, Salim Roukos, Todd Ward, and Wei-Jing Zhu. 2002. BLEU.",
    ]
)


def cited(text: str, references: list[object]) -> list[tuple[str, tuple[int, ...]]]:
    """Each mark of a text, and what it cites."""
    [found] = citation_marks([text], references)  # type: ignore[arg-type]
    return [(text[mark.start : mark.end], mark.references) for mark in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("As [3] says.", [("[3]", (2,))]),
        ("As [3, 5-7] say.", [("[3, 5-7]", (2, 4, 5, 6))]),
        ("As [3,5–7;12] say.", [("[3,5–7;12]", (2, 4, 5, 6, 11))]),
        ("As [1]–[3] say.", [("[1]", (0,)), ("[3]", (0, 1, 2))]),
        ("As [3, p. 12] says.", [("[3, p. 12]", (2,))]),
        ("As [ 3 ] [4] say.", [("[ 3 ]", (2,)), ("[4]", (3,))]),
        (
            "In [0, 1], [13], [3.5], [a, b], [7-3], [2000-2010] and [3-99] is no mark, in [2] is.",
            [("[2]", (1,))],
        ),
        ("No brackets (3).", []),
    ],
)
def test_numbers(text: str, wanted: list[object]) -> None:
    assert cited(text, list(NUMBERED)) == wanted


def test_labels() -> None:
    references = split_references(["[VSP+17] A. Vaswani. 2017.", "[Dev19] J. Devlin. 2019."])
    assert cited("As [VSP+17, Dev19] and [Dev19] say [Xyz20].", list(references)) == [
        ("[VSP+17, Dev19]", (0, 1)),
        ("[Dev19]", (1,)),
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Metrics (Papineni et al., 2002) are old.", [("(Papineni et al., 2002)", (6,))]),
        (
            "Papineni et al. (2002) and Papineni et al.’s (2002) say.",
            [("Papineni et al. (2002)", (6,)), ("Papineni et al.’s (2002)", (6,))],
        ),
        ("In brackets [Papineni et al., 2002].", [("[Papineni et al., 2002]", (6,))]),
        (
            "It (Papineni et al., 2002; Müller, 2001) is.",
            [("(Papineni et al., 2002", (6,)), ("Müller, 2001)", (5,))],
        ),
        ("It (see Muller, 2001, and others) is.", [("Muller, 2001", (5,))]),
        (
            "Lee (2004) wrote alone, Lee and Och (2004) did not.",
            [("Lee (2004)", (2,)), ("Lee and Och (2004)", (3,))],
        ),
        ("Two (Devlin et al., 2019a,b) are.", [("(Devlin et al., 2019a,b)", (0, 1))]),
        ("van der Maaten & Hinton (2008, p. 3) draw.", [("van der Maaten & Hinton (2008, p. 3)", (4,))]),
        ("Devlin, Chang, and Lee (2019b) is.", [("Devlin, Chang, and Lee (2019b)", (1,))]),
        ("Unknown (Nobody et al., 1999) is.", [("(Nobody et al., 1999)", (UNKNOWN,))]),
        ("Ambiguous (Devlin et al., 2019) is.", [("(Devlin et al., 2019)", (UNKNOWN,))]),
        (
            "Lee et al. (2004) are several, Müller et al. (2001) is one.",
            [("Lee et al. (2004)", (3,)), ("Müller et al. (2001)", (UNKNOWN,))],
        ),
        ("In May (2001), of Lee and Wu (2004), by Papineni (1999) nothing.", []),
    ],
)
def test_authors_and_years(text: str, wanted: list[object]) -> None:
    assert cited(text, list(NAMED)) == wanted


def test_a_numbered_list_may_be_cited_by_names() -> None:
    references = split_references(["1. Lee, A.: Trees (1999)", "2. Kim, B.: Graphs (2001)"])
    assert cited("Trees (Lee, 1999) and graphs (Kim, 2001) [1].", list(references)) == [
        ("(Lee, 1999)", (0,)),
        ("(Kim, 2001)", (1,)),
    ]
    assert cited("As Lee (1999) [1] and [2] say.", list(references)) == [("[1]", (0,)), ("[2]", (1,))]


def _letters(text: str) -> str:
    return "".join(letter for letter in plain(text) if letter.isalnum())


@pytest.mark.parametrize("style", ["acl", "plain", "apa", "icml"])
def test_lists_of_many_entries(style: str) -> None:
    right = wanted = 0
    for papers in listed_papers():
        references = split_references([line for entry in printed(style, papers, 60) for line in entry])
        found = citation_marks([cited_by_name(paper) for paper in papers], references)
        pairs = [
            (_letters(paper.title), _letters(references[at].text))
            for paper, own in zip(papers, found, strict=True)
            for mark in own
            for at in mark.references
            if at != UNKNOWN
        ]
        assert all(title in text for title, text in pairs), "none is taken for another"
        right += len(pairs)
        wanted += len(papers)
    assert right >= 0.96 * wanted


def test_without_references_nothing_is_cited() -> None:
    assert citation_marks(["As [1] says (Lee, 1999).", ""], []) == [[], []]


def test_marks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MAX_CITED", 4)
    first, second = citation_marks(["As [1] and [2, 3].", "As [4] and [5]."], NUMBERED)
    assert [mark.references for mark in (*first, *second)] == [(0,), (1, 2), (3,)]


@given(st.text("ABab [](),;-–&12390.'et al", max_size=80))
def test_marks_stand_apart_and_cite_what_is_there(text: str) -> None:
    for references in (NUMBERED, NAMED):
        [found] = citation_marks([text], references)
        assert all(0 <= mark.start < mark.end <= len(text) for mark in found)
        assert all(one.end <= two.start for one, two in itertools.pairwise(found))
        assert all(UNKNOWN <= at < len(references) for mark in found for at in mark.references)
        assert all(mark.references for mark in found)

"""Where the source has the sentences of a draft."""

from __future__ import annotations

from typing import Literal

import pytest

from cocite.drafts.draft import Place
from cocite.drafts.origins import Origin, Origins, line_starts
from cocite.drafts.reading import read_text

LATEX = [
    ("We parse. It helps a lot", ["We parse.", "It helps a lot"]),
    ("\\\"Uber \\emph{alle} na\\\"{\\i}ve trees. More.", ["\\\"Uber \\emph{alle} na\\\"{\\i}ve trees.", "More."]),
    ("Let $\\alpha_1 +\n  2$ be trees. We parse.", ["Let $\\alpha_1 +\n  2$ be trees.", "We parse."]),
    ("We % not these words\nparse.\n\nIt   helps.", ["We % not these words\nparse.", "It   helps."]),
    ("We parse\\footnote{They grow. So.} trees. More.",
     ["We parse\\footnote{They grow. So.} trees.", "More.", "They grow.", "So."]),
    ("\\newcommand{\\us}[1]{Our #1 work}So is \\us{own}. \\us{Bad}", ["So is \\us{own}.", "\\us{Bad}"]),
    ("\\newcommand{\\x}{Six.} \\x More.", ["\\x", "More."]),
    ("As \\cite{lee} says \\cite{?}. \\cite{kim} too \\cite{kim}",
     ["As \\cite{lee} says \\cite{?}.", "\\cite{kim} too \\cite{kim}"]),
    ("\\begin{itemize}\\item One. \\item Two.\\end{itemize} Three ( as \\ss ) ends.",
     ["One.", "Two.", "Three ( as \\ss ) ends."]),
    ("It says ``so''. 𝒳 helps. We parse.", ["It says ``so''.", "𝒳 helps.", "We parse."]),
]  # fmt: skip
MARKDOWN = [
    ("# Title\n\nWe *parse* **it**. It\nhelps `a` lot.", ["We *parse* **it**.", "It\nhelps `a` lot."]),
    ("> We parse\n> trees. They grow.", ["We parse\n> trees.", "They grow."]),
    ("See [the page](http://a.org/They. \"So.\"). They grow.",
     ["See [the page](http://a.org/They. \"So.\").", "They grow."]),
    ("![Our trees](t.png) grow. So <b class='So.'>it</b> is. So.",
     ["Our trees](t.png) grow.", "So <b class='So.'>it</b> is.", "So."]),
    ("R&amp;D \\*grows\\*. We parse.", ["R&amp;D \\*grows\\*.", "We parse."]),
    ("As [@lee] says [@?]. It is.[^1]\n\n[^1]: We parse.", ["As [@lee] says [@?].", "It is.", "We parse."]),
    ("| a b | a b c |\n|---|---|\n| one | one two |", ["a b", "a b c", "one", "one two"]),
    ("- One tree.\n- One tree.", ["One tree.", "One tree."]),
]  # fmt: skip
TEXT = [
    ("We parse [CIT]. It\nhelps.\n\nIt helps.", ["We parse [CIT].", "It\nhelps.", "It helps."]),
    (
        "Abstract\nWe parse TARGETCIT.\n\nTrees OTHERCIT grow.",
        ["We parse TARGETCIT.", "Trees OTHERCIT grow."],
    ),
]


@pytest.mark.parametrize(
    ("kind", "source", "pieces"),
    [
        *(("latex", *one) for one in LATEX),
        *(("markdown", *one) for one in MARKDOWN),
        *(("text", *one) for one in TEXT),
    ],
)
def test_sentences_have_their_source(
    kind: Literal["latex", "markdown", "text"], source: str, pieces: list[str]
) -> None:
    places = [sentence.place for sentence in read_text(source, kind).sentences]
    assert [place and source[place.start : place.end] for place in places] == pieces
    starts = [place.start for place in places if place]
    assert [place.line for place in places if place] == [1 + source.count("\n", 0, at) for at in starts]
    if "footnote" not in source and "[^1]" not in source:
        assert starts == sorted(set(starts))


def test_what_is_not_known_has_no_place() -> None:
    lines = {"a": line_starts("We parse. More.")}
    known = Origin(3, 6, Place("a", 1, 3, 9), is_copy=True)
    assert Origins("We parse.", [], lines).next(8) is None
    assert Origins("We parse.", [known], lines).next(8) == Place("a", 1, 3, 9)
    assert Origins("We parse. More.", [known], lines).next(13) is None
    assert Origins("We parse.", [known], {}).next(8) is None
    assert Origins("We ", [known], lines).next(2) is None
    behind = Origin(9, 6, Place("b", 1, 9, 15), is_copy=True)
    assert Origins("We parse. More.", [known, behind], lines | {"b": [0]}).next(13) is None

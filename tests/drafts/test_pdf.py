"""Drafts in .pdf."""

from __future__ import annotations

import time

import pytest
from helpers.pdf_files import encrypted, pdf_file
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.articles import pages
from cocite.drafts.draft import Draft
from cocite.drafts.limits import Budget
from cocite.drafts.pdf import read_pdf
from cocite.errors import InputError

PAPER = [
    [
        (9, "Preprint of the year 2020"),
        (18, "Neural parsing of"),
        (18, "many languages"),
        (10, "Abstract"),
        (10, "We parse trees, which is of use where the gram-"),
        (10, "mar of a language is not known to anybody yet."),
        (10, "1 Introduction"),
        (10, "Attention replaced recurrence in the state-of-the-"),
        (10, "art systems [CIT], and beam search is done since then"),
        (10, "by most (citation"),
        (10, "needed). It helps \\cite{?}."),
        (10, "A paragraph of its own begins here, and it runs on to"),
        (9, "1"),
    ],
    [
        (9, "Preprint of the year 2020"),
        (10, "the next page, where it is said that others do so [?]."),
        (9, "2"),
    ],
    [(9, "Preprint of the year 2020"), (10, "That is all that we have to say about it."), (9, "3")],
]


def read(data: bytes, **budget: float) -> Draft:
    return read_pdf(data, "paper.pdf", budget=Budget("paper.pdf", **budget))  # type: ignore[arg-type]


def test_a_draft() -> None:
    draft = read(pdf_file(PAPER))
    assert draft.title == "Neural parsing of many languages"
    assert draft.abstract.endswith("where the grammar of a language is not known to anybody yet.")
    assert [section.title for section in draft.sections] == ["1 Introduction"]
    assert [(gap.place.line, gap.sentence) for gap in draft.gaps] == [
        (
            1,
            "Attention replaced recurrence in the state-of-the-art systems [CIT], and beam search is done since "
            "then by most [CIT].",
        ),
        (
            1,
            "Attention replaced recurrence in the state-of-the-art systems [CIT], and beam search is done since "
            "then by most [CIT].",
        ),
        (1, "It helps [CIT]."),
        (
            1,
            "A paragraph of its own begins here, and it runs on to the next page, where it is said that others do "
            "so [CIT].",
        ),
    ]
    assert not any("Preprint" in sentence.text for sentence in draft.sentences)
    assert draft.sources == {}


def test_a_file_that_anybody_may_read_is_read() -> None:
    assert read(encrypted(pdf_file(PAPER), "")).title == "Neural parsing of many languages"
    with pytest.raises(InputError, match=r"paper\.pdf: is encrypted \(save it without a password\)"):
        read(encrypted(pdf_file(PAPER), "secret"))


@pytest.mark.parametrize("data", [b"", b"plain text", b"%PDF-1.4\nbroken", pdf_file(PAPER)[:200]])
def test_what_is_no_pdf(data: bytes) -> None:
    with pytest.raises(InputError, match=r"paper\.pdf: is no \.pdf that can be read"):
        read(data)


def test_pages_without_text() -> None:
    with pytest.raises(InputError, match="has no text, as a scan has none"):
        read(pdf_file([[], []]))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"paper\.pdf: has 401 pages, more than 400"):
        read(pdf_file([[]] * 401))
    monkeypatch.setattr("cocite.drafts.limits.MAX_STEPS", 1)
    assert read(pdf_file(PAPER)).gaps, "what is drawn is no piece of LaTeX"
    with pytest.raises(InputError, match="reading the draft takes more than 5 s"):
        read(pdf_file(PAPER), seconds=5, begin=time.monotonic() - 6)
    with pytest.raises(InputError, match="more than 2 MiB"):
        read(pdf_file(PAPER), bytes=(2 << 20) - 100)
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 100)
    with pytest.raises(InputError, match=r"paper\.pdf: page 1 has more than"):
        read(pdf_file(PAPER))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3_000), st.binary(max_size=6), st.integers(0, 3_000))
def test_a_damaged_file_is_read_or_refused(at: int, instead: bytes, cut: int) -> None:
    data = pdf_file(PAPER)
    data = data[:at] + instead + data[at + len(instead) :]
    try:
        draft = read(data[: len(data) - cut % 200])
    except InputError as error:
        assert str(error).startswith("paper.pdf: ")  # noqa: PT017
    else:
        assert draft.kind == "pdf"

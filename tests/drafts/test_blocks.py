"""Blocks, and the draft they make."""

from __future__ import annotations

import pytest

from cocite.drafts.blocks import MARK, Block, BlockBuilder, Mark, assemble, references_range
from cocite.drafts.draft import Draft, Place
from cocite.drafts.limits import MAX_GAPS, MAX_PARAGRAPH, Budget
from cocite.errors import InputError

PLACE = Place("a.txt", 1, 0, 5)
GAP, CITED = Mark(PLACE, is_gap=True), Mark(PLACE, ("lee99",))


def draft_of(*blocks: Block, title: str = "") -> Draft:
    return assemble(blocks, kind="text", file="a.txt", title=title, budget=Budget("a.txt"))


def test_a_gap_gets_its_own_sentence_and_a_context_across_paragraphs() -> None:
    draft = draft_of(
        Block("heading", "Data", level=1),
        Block("paragraph", f"We parse {MARK}. It helps", (CITED,)),
        Block("paragraph", f"Much {MARK}. So {MARK}.", (GAP, GAP)),
    )
    assert [gap.sentence for gap in draft.gaps] == ["Much [CIT].", "So [CIT]."]
    assert draft.gaps[0].context == "We parse OTHERCIT. It helps Much TARGETCIT."
    assert draft.gaps[1].context == "So TARGETCIT."
    assert [citation.key for citation in draft.citations] == ["lee99"]
    assert {gap.section for gap in draft.gaps} == {0}


def test_a_footnote_has_a_context_of_its_own() -> None:
    builder = BlockBuilder("a.txt")
    builder.text("We parse.")
    builder.footnotes.append(Block("footnote", f"Beam search {MARK}.", (GAP,)))
    builder.end()
    [gap] = draft_of(*builder.blocks).gaps
    assert gap.context == "Beam search TARGETCIT."


def test_words_of_the_corpus_for_citations_are_no_marks() -> None:
    builder = BlockBuilder("a.txt")
    builder.text("OTHERCIT and TARGETCIT " + MARK + "say ")
    builder.mark(GAP)
    builder.end()
    [gap] = draft_of(*builder.blocks).gaps
    assert gap.context == "and say TARGETCIT"


def test_a_draft_without_abstract_has_none() -> None:
    """The beginning of a short draft would say the same about every gap, and decide what is found for it."""
    passage = Block("paragraph", f"We parse {MARK}.", (GAP,))
    assert draft_of(passage, title="Parsing").abstract == ""
    assert draft_of(Block("abstract", "Short."), passage).abstract == "Short."


def test_the_list_of_references_is_the_last_and_ends_at_an_appendix() -> None:
    lines = [("References", True), ("1", False), ("References", False), ("Lee", True), ("Appendix A", True)]
    assert references_range(lines) == range(3, 4)
    assert references_range(lines[:4]) == range(3, 4)
    # A sentence of a reference that begins so is no heading.
    assert references_range([*lines[:4], ("Appendix A", False)]) == range(3, 5)
    assert not references_range([("We parse.", False)])


def test_limits() -> None:
    with pytest.raises(InputError, match=r"a\.txt: the draft has no text"):
        draft_of()
    with pytest.raises(InputError, match="501 gaps, more than 500"):
        draft_of(Block("paragraph", MARK * (MAX_GAPS + 1), (GAP,) * (MAX_GAPS + 1)))
    with pytest.raises(InputError, match=r"a\.txt, line 1: a paragraph has more than 100,000 characters"):
        BlockBuilder("a.txt").text("x" * (MAX_PARAGRAPH + 1))

"""What a draft is."""

from __future__ import annotations

from dataclasses import replace

from cocite.drafts.draft import Gap, Place


def test_a_place_reads_as_editors_understand_it() -> None:
    assert str(Place("intro.tex", 12, 0, 1)) == "intro.tex:12"
    assert str(Place("", 3, 0, 1)) == "line 3"


def test_a_context_of_marks_alone_has_no_words() -> None:
    gap = Gap(Place("", 1, 0, 5), "whole", (), -1, "[CIT]", "OTHERCIT TARGETCIT.")
    assert not gap.has_words
    assert replace(gap, context="BLEU TARGETCIT").has_words

"""Answers to the gaps of a draft that name chosen papers."""

from __future__ import annotations

from cocite.drafts.advice import GapAdvice
from cocite.drafts.draft import Draft
from cocite.pipeline.evidence import Evidence
from cocite.pipeline.options import Recommendation


def answered(draft: Draft, rows: list[int]) -> list[GapAdvice]:
    """An answer to each gap: the paper of its row; -1: none."""
    answers = []
    for number, (gap, row) in enumerate(zip(draft.gaps, rows, strict=True), 1):
        paper = Recommendation(row, "", "", (), 0, "", "", "", 1.0, {}, Evidence())
        answers.append(GapAdvice(number, gap, (paper,) if row >= 0 else ()))
    return answers

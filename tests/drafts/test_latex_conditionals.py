"""What TeX skips of a conditional that is false."""

from __future__ import annotations

import time

import pytest

from cocite.drafts.latex_conditionals import skipped_branches
from cocite.drafts.latex_source import LatexSource
from cocite.drafts.reading import read_text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"a \iffalse b \fi c", "a c"),
        (r"a \iffalse b \else c \fi d", "a c d"),
        (r"a \iffalse b \ifx x y \else z \fi b \else c \fi d", "a c d"),
        (r"a \iffalse b \else c \iffalse d \else e \fi f \fi g", "a c e f g"),
        (r"\newif\ifdraft a \iffalse b \ifdraft c \fi d \fi e", r"\newif\ifdraft a e"),
        (r"a \iffalse $b \iff c$ \fi d", "a d"),
        (r"a \iffalse b \ifthenelse{c}{d}{e} \fi f", "a f"),
        (r"a \ifx b c \iffalse d \fi e", r"a \ifx b c e"),
        (r"a \iffalse b \else \begin{comment} c \fi \end{comment} d", "a d"),
        (r"a \iffalsehood b \fi c", r"a \iffalsehood b \fi c"),
    ],
)
def test_the_branch_that_is_false_is_skipped_and_its_else_is_left(text: str, left: str) -> None:
    assert LatexSource("a.tex", text).readable.split() == left.split()


def test_the_else_branch_is_prose_with_its_gaps() -> None:
    draft = read_text(r"Trees \iffalse grow [CIT] \else parse well [CIT] \fi today.", "latex")
    assert [gap.context for gap in draft.gaps] == ["Trees parse well TARGETCIT today."]


def test_one_that_stays_open_skips_nothing() -> None:
    assert skipped_branches(r"a \iffalse b") == {}
    assert skipped_branches(r"\fi \else a \iffalse b \iffalse c \fi") == {23: [(23, 37)]}


def test_many_that_stay_open_take_no_time() -> None:
    text = r"\iffalse " * 100_000 + r"\fi " * 1_000
    start = time.thread_time()  # not what this process is held up for
    assert len(skipped_branches(text)) == 1_000
    assert time.thread_time() - start < 5

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cocite.corpus.records import TARGET_MARK
from cocite.drafts.latex_source import blank_definitions
from cocite.drafts.reading import read_text
from cocite_serve.editors.cursor import find_spot
from cocite_serve.editors.surroundings import balanced, context_at


def context(text: str, kind: str = "latex") -> str:
    at = text.index("|")
    text = text.replace("|", "", 1)
    spot = find_spot(text, at, kind)
    assert spot is not None
    return context_at(text, spot, kind, blank_definitions(text)[1])


def test_a_finished_draft_gives_the_context_that_its_reader_gives() -> None:
    source = (
        "\\section{Data}\nWe \\emph{parse} text as others do~\\citep{lee99}. Quality of $x$ is measured "
        "by BLEU~\\cite{?}, which counts.\n\nAnother paragraph \\cite{kim01}.\n\\section{End} Words."
    )
    [gap] = read_text(source, "latex").gaps
    assert context(source.replace("?", "|?")) == gap.context
    source = "# Data\n\nWe *parse* as [@lee99]. Quality is measured by BLEU [@?], which counts.\n"
    [gap] = read_text(source, "markdown").gaps
    assert context(source.replace("?", "|?"), "markdown") == gap.context


def test_what_is_typed_of_a_key_does_not_change_the_context() -> None:
    said = {
        context(f"Quality is measured by BLEU \\cite{{{typed}|")
        for typed in ("", "p", "pap", "papineni bleu")
    }
    assert said == {f"Quality is measured by BLEU {TARGET_MARK}"}


@pytest.mark.parametrize(
    "text",
    [
        "\\begin{itemize} \\item Quality is measured by BLEU \\cite{|",
        "\\end{itemize} } Quality is measured by BLEU \\cite{|} \\begin{table} \\caption{",
        "{\\emph{Quality is \\textbf{measured by BLEU \\cite{|",
        "\\newcommand{\\bleu}{BLEU}\n\nQuality is measured by \\bleu{} \\cite{|}",
    ],
)
def test_an_unfinished_text_is_read(text: str) -> None:
    assert f"measured by BLEU {TARGET_MARK}" in context(text)


def test_an_excerpt_of_a_long_draft_is_enough() -> None:
    long = "Others write about parsing. " * 40 + "\n\n"
    text = long * 100 + "Quality is measured by BLEU \\cite{|}, which counts.\n\n" + long * 100
    found = context(text)
    assert f"Quality is measured by BLEU {TARGET_MARK}, which counts." in found
    assert found.count("Others write about parsing.") > 4, "from both sides"


def test_no_words_are_no_context() -> None:
    assert context("\\cite{|}") == ""
    assert context("[@|", "markdown") == ""


PIECES = st.sampled_from(
    ["\\begin{a}", "\\end{a}", "{", "}", "\\{", "$", "%", "\\", "\n", "[", "]",
     "\\def\\x", "\\x", "word ", "\\cite{k}", "`", "> ", "\0"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=15), st.lists(PIECES, max_size=8), st.sampled_from(["latex", "markdown"]))
@settings(max_examples=60, deadline=None)
@example(["\\begin{verbatim}", "word "], [], "latex")
def test_no_text_makes_it_fail(before: list[str], after: list[str], kind: str) -> None:
    cite = "\\cite{" if kind == "latex" else "[@"
    text = "".join(before) + cite
    spot = find_spot(text + "".join(after), len(text), kind)
    if spot is not None:
        found = context_at(text + "".join(after), spot, kind, blank_definitions(text)[1])
        assert found == "" or TARGET_MARK in found


@given(
    st.lists(
        st.sampled_from(["{", "}", "\\begin{a}", "\\end{a}", "\\begin{b}", "\\end{b}", "x", "\\{"]),
        max_size=20,
    )
)
def test_balancing_is_done_once_and_keeps_places(pieces: list[str]) -> None:
    text = "".join(pieces)
    once = balanced(text)
    assert len(once) == len(text)
    assert balanced(once) == once
    assert all(new in (old, " ") for old, new in zip(text, once, strict=True))
    assert once.replace("\\{", "").count("{") == once.replace("\\{", "").count("}")
    assert once.count("\\begin") == once.count("\\end")

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cocite.drafts.reading import read_text
from cocite_serve.editors.head import MAX_HEAD, read_head

LATEX = (
    "\\documentclass{article}\n\\title{On \\emph{BLEU}}\n\\author{Ann Lee}\n\\date{May 2015}\n\\newcommand{\\x}{y}\n"
    "\\begin{document}\n\\maketitle\n\\begin{abstract}We measure.\\end{abstract}\n\\section{Introduction}\n"
    "We parse.\n% \\bibliography{none}\n\\bibliography{refs, more}\n\\end{document}\n"
)
MARKDOWN = (
    "---\ntitle: On BLEU\ndate: 2015\nbibliography: [refs.bib]\n---\n\n"
    "## Abstract\n\nWe measure.\n\n## Next\n\nWe parse.\n"
)


def test_a_finished_draft_has_the_head_that_its_reader_gives() -> None:
    for source, kind in ((LATEX, "latex"), (MARKDOWN, "markdown")):
        draft, head = read_text(source, kind), read_head(source, kind)
        assert (head.title, head.abstract, head.year) == (draft.title, draft.abstract, draft.year)
        assert head.authors == draft.authors
        assert head.title == "On BLEU"
        assert head.abstract == "We measure."
        assert head.year == 2015
        assert head.bibliographies == draft.bibliographies
    assert set(read_head(LATEX, "latex").macros) == {"x"}
    assert read_head(LATEX, "latex").authors == ("Ann Lee",)
    assert not read_head(LATEX, "latex").is_part


def test_a_part_names_its_main_file() -> None:
    head = read_head("% !TeX root = ../main.tex\r\n\\section{Data} We parse.", "latex")
    assert (head.root, head.is_part, head.title) == ("../main.tex", True, "")


def test_what_follows_the_head_does_not_count_nor_does_what_is_far() -> None:
    assert read_head("\\section{A} x \\title{Late}", "latex").title == ""
    assert read_head("%" * 10 + "\n" + "x " * MAX_HEAD + "\\title{Late}", "latex").title == ""
    assert read_head("# One\n\nWords.\n\n# Abstract\n\nWe.\n\n# Two", "markdown").abstract == "We."


PIECES = st.sampled_from(
    ["\\title{", "}", "\\begin{document}", "\\begin{abstract}", "\\bibliography{a", "---\n", "# ", "x", "\n", ": ",
     "\0"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=20), st.sampled_from(["latex", "markdown"]))
def test_an_unfinished_head_never_fails(pieces: list[str], kind: str) -> None:
    text = "".join(pieces)
    assert len(read_head(text, kind).title) <= len(text)

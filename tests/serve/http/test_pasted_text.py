"""What is read from a pasted text: its gaps, its title, and the prose within LaTeX."""

from __future__ import annotations

import time

import pytest
from helpers.gap_marks import GAPS, NO_GAPS
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.starter.drafts import StarterDraft, starter_drafts
from cocite.drafts.reading import read_draft
from cocite_serve.http.manuscript import parse_manuscript
from cocite_serve.http.pasted_text import GAP_MARK, HEADING_MARK, mark_gaps, read_pasted, strip_commands


@pytest.mark.parametrize("mark", GAPS)
def test_every_way_to_mark_a_gap_is_one_gap(mark: str) -> None:
    assert mark_gaps(f"We parse {mark}, as said.") == f"We parse {GAP_MARK}, as said."
    assert parse_manuscript(text=f"We parse {mark}, as said.").context == "We parse TARGETCIT, as said."


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("\\section{Data}\nWe parse.", "", "Data.\nWe parse."),
        ("\\subsection*{Data and {BERT}}\n\nWe parse.", "", "Data and BERT.\nWe parse."),
        ("\\title{On {BLEU}}\n\\maketitle\nWe parse.", "On BLEU", "We parse."),
        ("\\title{On parsing}\n\\begin{document}\nWe parse\n\\end{document}", "On parsing", "We parse"),
        ("Neural parsing\nWe use \\emph{trees}~\\cite{lee99}.", "Neural parsing", "We use trees."),
        ("% a comment\nWe parse.\n\\section{Data}", "", "We parse.\nData."),
        (
            "We gain 5\\% with \\textbf{trees} \\& words\nand more",
            "We gain 5% with trees & words",
            "and more",
        ),
        ("# Neural parsing\nWe parse.", "Neural parsing", "We parse."),
        ("## Data\nWe parse.", "", "Data.\nWe parse."),
        ("# Neural parsing\n\n## Data ##\nWe parse.", "Neural parsing", "Data.\nWe parse."),
        ("---\ntitle: 'Neural parsing'\n---\nWe parse\ntrees.", "Neural parsing", "We parse\ntrees."),
        ("---\nauthor: Lee\n---\n# Neural parsing\nWe parse.", "Neural parsing", "We parse."),
        ("\\section{Only}", "", "Only."),
        ("We cost \\$5 and no more.", "", "We cost \\$5 and no more."),
    ],
)
def test_the_title_and_the_prose(text: str, title: str, body: str) -> None:
    pasted = read_pasted(text)
    assert (pasted.title, pasted.body.replace(HEADING_MARK, "")) == (title, body)


def test_the_abstract_of_latex() -> None:
    pasted = read_pasted("\\title{T}\n\\begin{abstract}\nWe \\emph{parse}.\n\\end{abstract}\nMore [CIT].")
    assert (pasted.title, pasted.abstract, pasted.body) == ("T", "We parse.", f"More {GAP_MARK}.")
    manuscript = parse_manuscript(
        text="\\begin{abstract}We parse \\cite{?}.\\end{abstract} It helps \\cite{}.", gap=1
    )
    assert (manuscript.gaps, manuscript.abstract) == (2, "We parse .")


def test_the_abstract_of_markdown() -> None:
    pasted = read_pasted("# Trees\n\n## Abstract\n\nWe parse.\n\n## Data\n\nMore [@?].")
    assert (pasted.title, pasted.abstract) == ("Trees", "We parse.")
    assert pasted.body == f"{HEADING_MARK}Data.{HEADING_MARK}\n\nMore {GAP_MARK}."
    manuscript = parse_manuscript(text="# Trees\n## Abstract\nWe parse [@?].\n## Data\nIt helps [@?].", gap=1)
    assert (manuscript.gaps, manuscript.abstract) == (2, "We parse  .")


@pytest.mark.parametrize("draft", starter_drafts(), ids=lambda draft: draft.path.name)
def test_the_context_of_each_gap_is_that_of_the_draft_as_a_file(draft: StarterDraft) -> None:
    read, text = read_draft(draft.path), draft.path.read_text()
    assert len(read.gaps) == 5
    for number, gap in enumerate(read.gaps):
        manuscript = parse_manuscript(text=text, gap=number)
        assert manuscript.context == gap.context
        assert manuscript.title == read.title
        assert not read.abstract or " ".join(manuscript.abstract.split()) == read.abstract


def test_a_gap_alone_below_its_heading_keeps_the_words_of_that() -> None:
    assert parse_manuscript(text="## Metrics\n[@?]\n## Data").context == "Metrics. TARGETCIT Data."


def test_headings_and_front_matter_cost_little() -> None:
    for text in ("# " * 50_000, "---\ntitle: " + " " * 40_000 + "x" * 50_000, "---\n" + "a\n" * 50_000):
        began = time.process_time()
        read_pasted(f"x [CIT]\n{text}")
        read_pasted(text)
        assert time.process_time() - began < 2


@given(
    st.lists(
        st.sampled_from([*GAPS, *NO_GAPS, "word", "\n", "{", "}", "[", "]", "\\", "?", "\\emph", "\\title{", "~", "%",
                         "\\begin{document}", "\\begin{abstract}", "\\end{abstract}", "\\label{", "# ", "\n## ",
                         "\n---\n", GAP_MARK, HEADING_MARK]),
        max_size=30,
    )
)  # fmt: skip
def test_every_gap_stays_whatever_is_around_it(parts: list[str]) -> None:
    for text in (" ".join(parts), "".join(parts)):
        pasted = read_pasted(text)
        gaps = mark_gaps(text).count(GAP_MARK)
        assert pasted.body.count(GAP_MARK) == gaps
        assert not {GAP_MARK, HEADING_MARK} & {*pasted.title, *pasted.abstract}
        for gap in range(gaps):
            manuscript = parse_manuscript(text=text, gap=gap)
            assert manuscript.gaps == gaps
            assert HEADING_MARK not in manuscript.context + manuscript.abstract + manuscript.title


def test_commands_of_latex_are_no_words() -> None:
    assert (
        strip_commands("As \\textit{in} \\ref{x}, see Fig.~\\ref{fig:a}\\\\ and more")
        == "As in , see Fig. and more"
    )
    assert (
        strip_commands("As \\cites(see)()[1]{lee99}[2]{kim2001} {say}, \\cite{a} {b}\\nocite{c}")
        == "As say, b"
    )

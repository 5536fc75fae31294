"""Drafts in LaTeX: single files, pasted texts and projects."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.drafts.limits import MAX_BIB_BYTES
from cocite.drafts.reading import open_files, read_draft, read_text
from cocite.errors import InputError

PAPER = r"""\documentclass{article}
\usepackage{natbib}
\newcommand{\needcite}{\cite{?}}
\newcommand{\posscite}[1]{\citeauthor{#1}'s \citeyearpar{#1}}
\newcommand{\hl}[1]{\textbf{#1}}
\newcommand{\model}{\textsc{MyNet}\xspace}
\def\unsure#1{#1~[?]}
\title{Neural \emph{Parsing}\thanks{Funded by [CIT].}}
\author{Ann Lee\thanks{Both.} \\ Some University \and Bo {\L}ukasz}
\date{March 2017}
\begin{document}
\maketitle
\begin{abstract}
We parse with \model.
\end{abstract}
\section{Introduction}
Parsing is hard \citep[see][p.~3]{lee99,kim01}. Attention na\"{\i}ve helps \needcite. % [CIT] no
As \hl{shown before \cite{}} we do $x_1^2$ this \todo{cite BLEU}\todo{rewrite}.

\posscite{?} idea. \unsure{Our approach}. BLEU (citation needed), \cite{vas17,?}.\footnote{Beam search [CIT] helps.}
\begin{verbatim}
\cite{?} is code
\end{verbatim}
\begin{comment} [CIT] \end{comment} \iffalse [CIT] \fi
\begin{itemize}\item Foo [?] \item Bar\end{itemize}
\input{related}
\bibliography{refs}
\end{document}
behind the end \cite{?}
"""
RELATED = "\\section{Related work}\nOthers parse \\citet{?}.\n"


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    (tmp_path / "paper.tex").write_text(PAPER)
    (tmp_path / "related.tex").write_text(RELATED)
    return tmp_path / "paper.tex"


def test_a_project(paper: Path) -> None:
    draft = read_draft(paper)
    assert (draft.title, draft.abstract, draft.year) == ("Neural Parsing", "We parse with MyNet.", 2017)
    assert draft.authors == ("Ann Lee", "Bo Łukasz")
    assert [section.title for section in draft.sections] == ["Introduction", "Related work"]
    assert [citation.key for citation in draft.citations] == ["lee99", "kim01", "vas17"]
    assert [
        (gap.place.file, draft.sources[gap.place.file][gap.place.start : gap.place.end], gap.form)
        for gap in draft.gaps
    ] == [
        ("paper.tex", r"\needcite", "whole"),
        ("paper.tex", "", "keys"),
        ("paper.tex", r"\todo{cite BLEU}", "whole"),
        ("paper.tex", "?", "keys"),
        ("paper.tex", "?", "keys"),
        ("paper.tex", r"\unsure{Our approach}", "after"),
        ("paper.tex", "(citation needed)", "whole"),
        ("paper.tex", "vas17,?", "keys"),
        ("paper.tex", "[?]", "whole"),
        ("paper.tex", "[CIT]", "whole"),
        ("related.tex", "?", "keys"),
    ]
    assert draft.gaps[7].kept == ("vas17",)
    assert draft.gaps[0].context == "Parsing is hard OTHERCIT. Attention naïve helps TARGETCIT."
    assert draft.gaps[-1].sentence == "Others parse [CIT]."
    assert draft.bibliographies == ("refs",)
    assert draft.warnings == ()


def test_a_folder_with_one_document_is_a_draft(paper: Path) -> None:
    assert read_draft(paper.parent).title == "Neural Parsing"


def test_a_file_that_is_input_twice_is_read_twice(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text("\\input{b} and \\input{b.tex}")
    (tmp_path / "b.tex").write_text("Trees [CIT].")
    assert len(read_draft(tmp_path / "a.tex").gaps) == 2


def test_macros_of_an_input_hold_in_the_main_file(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text("\\input{macros}\n\\begin{document}\nTrees \\gap.\n\\end{document}")
    (tmp_path / "macros.tex").write_text("\\newcommand{\\gap}{[CIT]}")
    [gap] = read_draft(tmp_path / "a.tex").gaps
    assert (gap.place.file, gap.place.line) == ("a.tex", 3)


def test_files_that_other_commands_input(tmp_path: Path) -> None:
    (tmp_path / "parts" / "more").mkdir(parents=True)
    (tmp_path / "a.tex").write_text(
        "\\input{parts/macros}\n\\import{parts/}{one}\n\\input parts/three\n\\subimport{../}{secret}\n"
    )
    (tmp_path / "parts" / "macros.tex").write_text("\\newcommand{\\own}{[CIT]}")
    (tmp_path / "parts" / "one.tex").write_text("Trees [CIT].\n\\subimport{more}{two}")
    (tmp_path / "parts" / "more" / "two.tex").write_text("Graphs \\own.")
    (tmp_path / "parts" / "three.tex").write_text("Lists [CIT].")
    draft = read_draft(tmp_path / "a.tex")
    assert [(gap.place.file, gap.sentence) for gap in draft.gaps] == [
        ("parts/one.tex", "Trees [CIT]."),
        ("parts/more/two.tex", "Graphs [CIT]."),
        ("parts/three.tex", "Lists [CIT]."),
    ]
    assert draft.warnings == ("\\input{../secret}: lies outside the draft's folder; it is left out",)


def test_a_brace_that_the_end_closes_is_told(tmp_path: Path) -> None:
    draft = read_text("\\verb|{| Trees [CIT].\n\n\\section{Data\nWords.", "latex")
    [warning] = draft.warnings
    assert warning.startswith("line 3: a brace, a dollar or an environment stays open here")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "sub/../../secret", "link"])
def test_no_input_leaves_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.tex").write_text("Secret words.")
    folder = tmp_path / "draft"
    folder.mkdir()
    (folder / "sub").mkdir()
    (folder / "link.tex").symlink_to(tmp_path / "secret.tex")
    (folder / "a.tex").write_text(f"Trees [CIT]. \\input{{{name}}}")
    draft = read_draft(folder / "a.tex")
    assert draft.warnings == (f"\\input{{{name}}}: lies outside the draft's folder; it is left out",)
    assert "Secret" not in "".join(sentence.text for sentence in draft.sentences)


def test_a_missing_input_is_left_out_with_a_warning() -> None:
    draft = read_text("Trees [CIT]. \\input{gone}", "latex")
    assert draft.warnings == ("\\input{gone}: a pasted text has no other files; it is left out",)


def test_files_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text("Text.\n\\input{b}")
    (tmp_path / "b.tex").write_text("\\include{a}")
    with pytest.raises(
        InputError, match=r"b\.tex:1: the files input one another in a circle: a\.tex -> b\.tex"
    ):
        read_draft(tmp_path / "a.tex")


def preambles(folder: Path, files: dict[str, str]) -> Path:
    """A draft in a folder, whose preamble inputs the first of some files."""
    for name, text in files.items():
        (folder / f"{name}.tex").write_text(text)
    main = folder / "main.tex"
    main.write_text(f"\\input{{{next(iter(files))}}}\\begin{{document}}We parse [CIT].\\end{{document}}")
    return main


def test_preambles_in_a_circle_are_refused(tmp_path: Path) -> None:
    main = preambles(tmp_path, {"a": "\\title{Trees}\\input{b}", "b": "\n\\input{a}"})
    with pytest.raises(
        InputError,
        match=r"b\.tex:2: the files input one another in a circle: a\.tex -> b\.tex -> a\.tex",
    ):
        read_draft(main)


def test_preambles_that_input_each_other_many_times_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The whole limit takes as long as a draft may, on a slow machine.
    monkeypatch.setattr("cocite.drafts.limits.MAX_STEPS", 50_000)
    twice = {f"f{i}": f"\\input{{f{i + 1}}}\n\\input{{f{i + 1}}}" for i in range(30)}
    deep = preambles(tmp_path, twice | {"f30": "\\title{Trees}"})
    with pytest.raises(InputError, match="more than 20 files input one another"):
        read_draft(deep)
    wide = preambles(tmp_path, {"f12": twice["f12"], "f30": "\\title{Trees}\n" + "\\date{2020}" * 20})
    with pytest.raises(InputError, match="the draft has more than 50,000 pieces"):
        read_draft(wide)


def test_a_bibliography_that_is_named_twice_is_one(tmp_path: Path) -> None:
    main = preambles(tmp_path, {"a": "\\input{b}\\input{b}\\title{Trees}", "b": "\\addbibresource{refs.bib}"})
    draft = read_draft(main)
    assert (draft.title, draft.bibliographies) == ("Trees", ("refs.bib",))


def test_too_many_or_too_deep_inputs_are_refused(tmp_path: Path) -> None:
    for i in range(250):
        (tmp_path / f"f{i}.tex").write_text(f"Text. \\input{{f{i + 1}}}")
    with pytest.raises(InputError, match="inputs more than 200 files"):
        read_draft(tmp_path / "f0.tex")
    (tmp_path / "f30.tex").write_text("The end.")
    with pytest.raises(InputError, match="more than 20 files input one another"):
        read_draft(tmp_path / "f0.tex")


DOUBLING = "".join(rf"\def\{chr(97 + i)}{{\{chr(98 + i)}\{chr(98 + i)}}}" for i in range(25))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"\def\a{\a} x \a", r"line 1: the macro \\a expands to itself"),
        (r"\newcommand{\a}[1]{\a{#1#1}} x \a{y}", r"the macro \\a expands to itself"),
        (DOUBLING + r"\a x", "a paragraph has more than 100,000 characters"),
        ("{" * 50_000, "braces or environments are nested too deeply"),
        (r"\begin{itemize}" * 5_000, "nested too deeply"),
        ("x " * 200_000, "a paragraph has more than 200,000 characters"),
        ("x " * 5_000_000, "more than 2 MiB"),
        ("% only a comment", "the draft has no text"),
        ("", "the draft has no text"),
        ("a\0b", "null characters"),
    ],
)
def test_hostile_drafts_are_refused_in_a_sentence_soon(text: str, message: str) -> None:
    begin = time.process_time()
    with pytest.raises(InputError, match=message):
        read_text(text, "latex")
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    "text",
    [r"{\bf open [CIT]", r"\cite{?", r"\begin{itemize} \item x [?]", r"\section{Trees [?]", r"$x [?] \emph"],
)
def test_broken_latex_is_read_as_far_as_it_goes(text: str) -> None:
    draft = read_text("Trees [CIT] grow.\n\n" + text, "latex")
    assert draft.gaps[0].context.startswith("Trees TARGETCIT grow.")
    assert len(draft.gaps) > 1 or draft.warnings or draft.sentences


WORDS = st.lists(
    st.sampled_from(
        [
            "parsing",
            r"\emph{helps}",
            "Trees.",
            r"\cite{lee99}",
            "$x$",
            "\n\n",
            r"\"a",
            "--",
            r"\%",
            r"\own{word}",
        ]
    ),
    max_size=6,
)
GAPS = {r"\cite{}": "", r"\citep{?}": "?", r"\todo{cite}": r"\todo{cite}", "[CIT]": "[CIT]", "[?]": "[?]",
        "(citation needed)": "(citation needed)", r"\gap{}": r"\gap"}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(WORDS, st.sampled_from(sorted(GAPS))), max_size=8), st.booleans())
def test_the_gaps_found_are_those_put_in(parts: list[tuple[list[str], str]], emphasised: bool) -> None:
    text, expected = "\\newcommand{\\gap}{[?]}\\newcommand{\\own}[1]{\\emph{#1}}\nWords.", []
    for words, gap in parts:
        text += " " + " ".join(words) + (r" \textbf{" if emphasised else " ")
        where = len(text) + (gap.index("{") + 1 if gap.startswith(r"\cite") else 0)
        expected.append((where, GAPS[gap]))
        text += gap + ("}" if emphasised else "")
    draft = read_text(text, "latex")
    assert [(gap.place.start, text[gap.place.start : gap.place.end]) for gap in draft.gaps] == expected
    assert len(draft.citations) == text.count("lee99")


ITEMS = r"""\begin{thebibliography}{9}
\bibitem[Lee {\it et al.}(1999)]{lee} A.~Lee and \"O.~Kim. \newblock Parsing {T}rees, again [?].

\newblock 1999.
\bibitem{kim} See \cite{lee}.
\bibitem{lee} Another of that key.
\bibitem{none}
\end{thebibliography}"""


def test_the_references_that_latex_prints_have_their_keys_and_are_no_part_of_the_text() -> None:
    draft = read_text(rf"We parse \cite{{lee}} [?]. {ITEMS} Appendix.", "latex")
    assert draft.bibitems == {
        "lee": "A. Lee and Ö. Kim. Parsing Trees, again . 1999.",
        "kim": "See .",
        "none": "",
    }
    assert (len(draft.gaps), [one.key for one in draft.citations]) == (1, ["lee"])
    assert [one.text for one in draft.sentences] == ["We parse [OTHERCIT] [CIT].", "Appendix."]


@pytest.mark.parametrize(
    ("bibs", "bbl", "keys"),
    [
        ({}, ITEMS, ["lee", "kim", "none"]),
        ({"refs.bib": b""}, ITEMS, []),
        ({}, r"\entry{lee}{article}{}\endentry", []),
    ],
)
def test_what_bibtex_printed_is_read_where_the_bib_is_missing(
    bibs: dict[str, bytes], bbl: str, keys: list[str]
) -> None:
    text = rb"\documentclass{article}We parse \cite{lee}. \bibliography{refs}"
    draft = open_files({"paper.tex": text, "paper.bbl": bbl.encode(), **bibs}).draft
    assert [*draft.bibitems] == keys
    assert [*draft.sources] == ["paper.tex"]


BIBLATEX = r"\entry{lee}{article}{}{} \field{title}{Parsing} \field{year}{1999} \endentry"


@pytest.mark.parametrize(
    ("bibs", "bbl", "keys", "warnings"),
    [
        ({}, BIBLATEX, ["lee"], ()),
        ({"refs.bib": b""}, BIBLATEX, [], ()),
        ({}, " " * (MAX_BIB_BYTES + 1), [], ("paper.bbl has more than 32 MiB; it is left out",)),
    ],
)
def test_what_biber_wrote_is_read_where_the_bib_is_missing(
    bibs: dict[str, bytes], bbl: str, keys: list[str], warnings: tuple[str, ...]
) -> None:
    text = rb"\documentclass{article}\addbibresource{refs.bib}We parse \cite{lee}."
    draft = open_files({"paper.tex": text, "paper.bbl": bbl.encode(), **bibs}).draft
    assert [one.id for one in draft.entries] == keys
    assert (draft.bibitems, [*draft.sources], draft.warnings) == ({}, ["paper.tex"], warnings)


def test_a_macro_that_is_provided_is_expanded() -> None:
    draft = read_text(r"\providecommand{\fix}{\cite{?}}We parse \fix.", "latex")
    assert draft.gaps[0].context == "We parse TARGETCIT."


def test_a_dollar_that_stays_open_hides_no_paragraph_behind_it() -> None:
    draft = read_text("A fee of 5$ \\cite{lee}.\n\nThen \\cite{kim} fits $x$.\n\nLast [?].", "latex")
    assert [one.key for one in draft.citations] == ["lee", "kim"]
    assert draft.sentences[-1].text == "Last [CIT]."
    assert draft.warnings == ("line 1: a dollar stays open in its paragraph",)


def test_the_code_of_sweave_is_left_out() -> None:
    head = b"\\documentclass{article}\n<<setup>>=\nopts_chunk$set(echo=FALSE)\n@\n\\begin{document}\n"
    text = b"We parse \\cite{lee}.\n<<>>=\nfit$x <- 1\n@\nMore [?].\n\\end{document}\n"
    draft = open_files({"paper.Rnw": head + text}).draft
    assert [one.text for one in draft.sentences] == ["We parse [OTHERCIT].", "More [CIT]."]
    assert (draft.gaps[0].place.line, draft.warnings) == (10, ())


def test_an_environment_that_the_draft_defines_hides_nothing() -> None:
    definition = r"\newenvironment{hanging}{\begin{list}{}{}\item[]}{\end{list}}"
    text = rf"{definition}\title{{Trees}}\Abstract{{We parse.}}\begin{{document}}We \cite{{lee}} [?].\end{{document}}"
    draft = read_text(text, "latex")
    assert (draft.title, draft.abstract, [one.key for one in draft.citations]) == (
        "Trees",
        "We parse.",
        ["lee"],
    )
    assert draft.warnings == ()


def test_a_bibliography_that_the_preamble_names_as_biblatex_once_had_it() -> None:
    draft = read_text(r"\bibliography{refs}\begin{document}We \cite{lee}.\end{document}", "latex")
    assert draft.bibliographies == ("refs",)


def test_comments_at_the_ends_of_lines_are_no_part_of_keys() -> None:
    items = "\\bibitem [Lee]{%\nlee} Trees. \\bibitem{kim}% Words\n Words."
    text = f"We \\cite{{%\nlee,% old\n  kim}}. \\begin{{thebibliography}}{{9}}{items}\\end{{thebibliography}}"
    draft = read_text(text, "latex")
    assert [one.key for one in draft.citations] == ["lee", "kim"]
    assert draft.bibitems == {"lee": "Trees.", "kim": "Words."}

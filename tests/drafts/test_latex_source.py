"""The files of a LaTeX draft."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.drafts.latex_source import (
    LatexProject,
    LatexSource,
    Macro,
    as_written,
    blank_definitions,
    without_lone_dollars,
)
from cocite.drafts.limits import MAX_BYTES, Budget
from cocite.drafts.reading import read_text
from cocite.drafts.source_files import FolderFiles, text_of
from cocite.errors import InputError


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "\n",
                "%",
                "\\",
                "{",
                "}",
                "\\def\\x{",
                "\\begin{verbatim}",
                "\\end{verbatim}",
                "\\iffalse",
                "\\fi",
            ]
        ),
        max_size=40,
    )
)
def test_what_is_hidden_from_the_parser_keeps_every_position(parts: list[str]) -> None:
    text = "".join(parts)
    source = LatexSource("a.tex", text)
    assert len(source.readable) == len(text)
    assert all(mine in (theirs, " ") for mine, theirs in zip(source.readable, text, strict=True))
    assert source.readable.count("\n") == text.count("\n")


def test_definitions() -> None:
    text = r"\newcommand{\x}[2][d]{see #1 {#2}}\def\y#1{z}\renewcommand*\w{v} rest"
    rest, macros = blank_definitions(text)
    assert rest.strip() == "rest"
    assert macros == {"x": Macro(2, "d", "see #1 {#2}"), "y": Macro(1, None, "z"), "w": Macro(0, None, "v")}


def test_lines_and_comments() -> None:
    source = LatexSource("a.tex", "50\\% sure % [CIT]\nTwo")
    assert source.readable == "50\\% sure %      \nTwo"
    assert source.place(18, 21).line == 2


def test_bytes_of_all_files_together_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text("a\n\n" * 200_000)
    budget = Budget("a.tex", bytes=MAX_BYTES - 100)
    with pytest.raises(InputError, match=r"a\.tex: the draft has more than 2 MiB"):
        LatexProject(FolderFiles(tmp_path), budget).find("a")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_changed_text_keeps_its_encoding_and_ends_of_lines(encoding: str) -> None:
    before = "né [CIT].\r\nWords.\r\n"
    after = "né \\cite{lee}.\nWords.\n"
    assert as_written(before.encode(encoding), after) == after.replace("\n", "\r\n").encode(encoding)


@given(
    st.lists(
        st.sampled_from([b"a [CIT]", b"\r\n", b"\n", b"\r", b"\x81", b"\x9d", b"\xe9", b"\xc3\xa9"])
    ).map(b"".join)
)
def test_a_text_that_does_not_change_keeps_every_byte(data: bytes) -> None:
    assert as_written(data, text_of(data, "a.tex")) == data


def test_a_changed_text_keeps_bytes_that_no_letter_has_and_the_ends_of_single_lines() -> None:
    before = b"\x8d \x9d [CIT]\r\nb [CIT]\nc\r\n"  # Czech as Windows writes it: T and t with a caron
    after = text_of(before, "a.tex").replace("b [CIT]", "b\nnew")
    assert as_written(before, after) == b"\x8d \x9d [CIT]\r\nb\nnew\r\nc\r\n"


@pytest.mark.parametrize(
    "code",
    [
        r"\verb|50%|",
        r"\lstinline[language=C]!%d!",
        r"\url{https://x.org/a%20b}",
        r"\href {https://x.org/a%20b}{page}",
        r"\footnote{See \url{x.org/%7Elee}.}",
    ],
)
def test_a_sign_of_percent_in_code_or_an_address_begins_no_comment(code: str) -> None:
    text = f"See {code} and trees [CIT]. % [CIT] \\verb|x\nMore words."
    draft = read_text(text, "latex")
    assert [gap.place.start for gap in draft.gaps] == [text.index("[CIT]")]
    assert "More words." in [one.text for one in draft.sentences]
    assert draft.warnings == ()
    assert len(LatexSource("a.tex", text).readable) == len(text)


@pytest.mark.parametrize(
    ("text", "lone"),
    [
        ("One $x$ and $$y$$.", []),
        (r"Of \$5, \verb|a$b| and $x$.", []),
        ("A $x$ and a $.\n\nWith $y$.\n \nEnds $", [12, 33]),
        ("$", [0]),
        ("", []),
    ],
)
def test_a_dollar_is_alone_where_its_paragraph_has_no_other(text: str, lone: list[int]) -> None:
    found, positions = without_lone_dollars(text)
    assert positions == lone
    assert [found[at] for at in lone] == [" "] * len(lone)
    assert len(found) == len(text)
    assert found.count("$") == text.count("$") - len(lone)


def test_the_code_of_sweave_is_no_text_and_keeps_its_place() -> None:
    text = "We \\Sexpr{x$y} fit.\n<<fit, echo=FALSE>>=\nx$y # {\n@ %def\nThen a@b.\n<<open>>=\nz$y"
    source = LatexSource("a.Rnw", text)
    assert source.readable.split() == ["We", "fit.", "Then", "a@b.", "<<open>>=", "z", "y"]
    assert len(source.readable) == len(text)
    assert source.place(text.index("Then"), 0).line == 5


@pytest.mark.parametrize(
    ("definition", "is_prose"),
    [
        (r"\newenvironment{box}{\begin{list}{}{} \item[]}{\end{list}}", True),
        (r"\renewenvironment*{box}[1][x]{\begin{center} #1} {\end{center}}", True),
        (r"\newenvironment{box}{\color{red}\Verbatim}{\endVerbatim}", False),
        (r"\lstnewenvironment{box}[1][]{\lstset{#1}}{}", False),
        (r"\DefineVerbatimEnvironment{box}{Verbatim}{fontsize=\small}", False),
        (r"\newenvironment{box}{never closed", True),
    ],
)
def test_environments_that_the_draft_defines(definition: str, is_prose: bool) -> None:
    text = rf"{definition} We parse \begin{{box}}trees\end{{box}} here."
    readable = LatexSource("a.tex", text).readable
    assert ("trees" in readable) == is_prose
    assert (len(readable), readable[-5:]) == (len(text), "here.")
    assert not any(part in readable for part in ("{center}", "{list}"))

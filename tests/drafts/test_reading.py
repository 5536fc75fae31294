"""Reading a draft of any kind."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.drafts.draft import Kind
from cocite.drafts.reading import SUFFIXES, open_draft, open_files, read_draft, read_text
from cocite.errors import InputError, NotFoundError


@pytest.mark.parametrize("suffix", sorted(set(SUFFIXES) - {".docx", ".pdf"}))
def test_every_suffix_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"draft{suffix.upper()}"
    path.write_bytes(b"We parse trees [CIT].\r\nThey grow.\r\n")
    draft = read_draft(path)
    assert draft.kind == SUFFIXES[suffix]
    assert draft.gaps[0].context.startswith("We parse trees TARGETCIT.")


def test_what_is_no_draft(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"gone\.tex: no such file"):
        read_draft(tmp_path / "gone.tex")
    (tmp_path / "draft.odt").write_text("x")
    with pytest.raises(InputError, match=r"draft\.odt: is of no known kind: '\.odt' \(known: \.tex"):
        read_draft(tmp_path / "draft.odt")
    with pytest.raises(InputError, match=r"one file has to hold \\documentclass; found: none"):
        read_draft(tmp_path)
    for name in ("a.tex", "b.tex"):
        (tmp_path / name).write_text("\\documentclass{article}")
    with pytest.raises(InputError, match=r"found: a\.tex, b\.tex \(name the file\)"):
        read_draft(tmp_path)
    with pytest.raises(InputError, match="a file, not a text"):
        read_text("x", "docx")


def test_a_line_of_ten_megabytes_is_refused(tmp_path: Path) -> None:
    for suffix in (".tex", ".md", ".txt"):
        path = tmp_path / f"draft{suffix}"
        path.write_text("word " * 2_000_000)
        with pytest.raises(InputError, match="more than 2 MiB"):
            read_draft(path)


PIECES = r"""\cite{ \cite[ } { ] [ $ $$ \begin{x} \end{x} \begin{document} \end{document} \input{ \a \b \b{[?]}
\footnote{ \newcommand{\a}[2][x]{#1\a#2} \def\b#1{#1} \def\c{[?]} \c [?] % \ \title{ \todo{cite} \verb| \item \section
\abstract #1 word. \cite \" ~ & \bibliography \date \iffalse \begin{equation} \caption @? [@a;@?] ` --- > TARGETCIT
OTHERCIT \par é""".split()
KINDS: list[Kind] = ["latex", "markdown", "text"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([*PIECES, "(citation needed)", "\n", "\n\n", " ", "\ue000", "\ue001"]), max_size=40
    ),
    st.sampled_from(KINDS),
)
def test_any_text_is_answered_or_refused_and_no_two_gaps_overlap(pieces: list[str], kind: Kind) -> None:
    text = "".join(pieces)
    try:
        draft = read_text(text, kind)
    except InputError as error:
        sentence = str(error)
        assert "no text" in sentence or "expands to itself" in sentence
        return
    spans = sorted({(gap.place.start, gap.place.end) for gap in draft.gaps if gap.form != "after"})
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(gap.context.count("TARGETCIT") == 1 for gap in draft.gaps)


MAIN = b"\\documentclass{article}\\begin{document}We parse [CIT]. \\input{intro}\\end{document}"


def test_the_main_file_of_a_project() -> None:
    files = {
        "paper/main.tex": MAIN,
        "paper/intro.tex": b"Beams [?].",
        "notes.md": b"# Notes",
        "x/a.tex": b"% none",
    }
    draft = open_files(files).draft
    assert [str(gap.place) for gap in draft.gaps] == ["main.tex:1", "intro.tex:1"]
    part = b"\\documentclass[../main]{subfiles} We [CIT]."
    assert len(open_files({**files, "paper/part.tex": part}).draft.gaps) == 2
    with pytest.raises(
        InputError, match=r"2 files hold .*documentclass.* by --main.*found: a\.tex, paper/main\.tex\)"
    ):
        open_files({**files, "a.tex": MAIN})
    assert open_files({**files, "a.tex": MAIN}, "notes.md").draft.title == "Notes"


@pytest.mark.parametrize(
    ("files", "main", "message"),
    [
        ({"a.tex": MAIN}, "b.tex", "there is no file 'b.tex' .*: a.tex"),
        ({"../a.tex": MAIN}, "", r"\.\./a\.tex: is no path within a folder"),
        ({"/a.tex": MAIN}, "", "is no path within a folder"),
        ({"a\0.tex": MAIN}, "", "is no path within a folder"),
        ({"a" * 400: MAIN}, "", "is no path within a folder"),
        ({"a.tex": b"x", "b.tex": b"y"}, "", r"no files hold .*found: a\.tex, b\.tex\)"),
        ({"refs.bib": b"@misc{a, title = {T}}", "a.odt": b"x"}, "", r"no file is a draft \(known: \.tex"),
        ({"refs.bib": b"@misc{a, title = {T}}"}, "refs.bib", "is of no known kind: '.bib'"),
        ({"a.txt": b"We\0"}, "", "holds null bytes"),
        ({"a.txt": b"word " * 1_000_000}, "", "more than 2 MiB"),
        ({"a.tex": MAIN, "b.zip": b"PK"}, "b.zip", "is of no known kind: '.zip'"),
    ],
)
def test_files_that_are_no_draft(files: dict[str, bytes], main: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_files(files, main)


def test_the_bibliographies_beside_a_draft(tmp_path: Path) -> None:
    text = b"\\documentclass{article} We. \\bibliography{refs,../secret,gone}"
    bib = b"@misc{a, title = {Trees}}"
    folder = tmp_path / "paper"
    folder.mkdir()
    for name, data in {"paper/main.tex": text, "paper/refs.bib": bib, "secret.bib": bib}.items():
        (tmp_path / name).write_bytes(data)
    expected = ([("refs.bib", bib)], ["../secret", "gone"])
    assert open_draft(folder).bibliographies() == expected
    packed = {"paper/main.tex": text, "paper/refs.bib": bib, "secret.bib": bib}
    assert open_files(packed).bibliographies() == expected


def test_only_an_archive_has_a_main_file_to_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("We parse.")
    with pytest.raises(InputError, match="--main: goes with a .zip"):
        open_draft(tmp_path / "a.txt", "b.txt")

"""Reads a draft of any kind: a file, a folder with a LaTeX project, or a pasted text."""

from __future__ import annotations

from pathlib import Path

from cocite.drafts.draft import Draft, Kind
from cocite.drafts.latex_source import read_utf8
from cocite.drafts.limits import Budget
from cocite.errors import InputError, NotFoundError

SUFFIXES: dict[str, Kind] = {
    ".tex": "latex", ".ltx": "latex", ".md": "markdown", ".markdown": "markdown", ".qmd": "markdown",
    ".rmd": "markdown", ".txt": "text", ".text": "text", ".docx": "docx",
}  # fmt: skip
"""The kind of a file by the end of its name."""


def read_draft(path: Path) -> Draft:
    """Read a draft from a file, or from a folder that holds one LaTeX document.

    Raises:
        NotFoundError: there is no such file.
        InputError: the file is of no known kind, has no text, or takes more than :mod:`cocite.drafts.limits` allows.

    Example:
        >>> _ = Path("draft.md").write_text("# Parsing\\n\\nWe follow @lee99 and others [@?].")
        >>> draft = read_draft(Path("draft.md"))
        >>> draft.title, [c.key for c in draft.citations], [str(gap.place) for gap in draft.gaps]
        ('Parsing', ['lee99'], ['draft.md:3'])
    """
    path = find_draft(path)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise InputError(f"is of no known kind: {path.suffix!r}", where=str(path), hint=f"known: {known}")
    budget = Budget(path.name)
    if kind == "docx":
        from cocite.drafts.word import read_docx

        return read_docx(path, path.name, budget=budget)
    return _read(read_utf8(path, budget), kind, path.name, budget, main=path)


def find_draft(path: Path) -> Path:
    """The file that a draft is read from: the path, or the LaTeX document of the folder there.

    Raises:
        NotFoundError: there is no such file.
        InputError: the folder holds no LaTeX document, or several.
    """
    if path.is_dir():
        path = _main_file(path)
    if not path.is_file():
        raise NotFoundError("no such file" if not path.exists() else "is no regular file", where=str(path))
    return path


def read_text(text: str, kind: Kind) -> Draft:
    """Read a draft that was pasted; a LaTeX text reads no other file.

    Raises:
        InputError: the text is empty, or takes more than :mod:`cocite.drafts.limits` allows.
    """
    if kind == "docx":
        raise InputError("a .docx draft is a file, not a text", hint="name the file")
    if "\0" in text:
        raise InputError("the draft is no text: it holds null characters", hint="send text")
    return _read(text, kind, "", Budget(""))


def _read(text: str, kind: Kind, name: str, budget: Budget, *, main: Path | None = None) -> Draft:
    # Each reader needs a parser of its own, which takes a while to import.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "latex":
        from cocite.drafts.latex import read_latex

        return read_latex(text, name, main=main, budget=budget)
    budget.read(len(text))
    if kind == "markdown":
        from cocite.drafts.markdown import read_markdown

        return read_markdown(text, name, budget=budget)
    from cocite.drafts.plain_text import read_plain_text

    return read_plain_text(text, name, budget=budget)


def _main_file(folder: Path) -> Path:
    """The file of a folder that is a LaTeX document."""
    files = sorted(path for path in folder.glob("*.tex") if path.is_file())[:500]
    mains = []
    for path in files:
        with path.open("rb") as file:
            if b"\\documentclass" in file.read(1 << 20):
                mains.append(path)
    if len(mains) == 1:
        return mains[0]
    found = ", ".join(path.name for path in mains[:10]) or "none"
    raise InputError(
        f"is a folder in which one file has to hold \\documentclass; found: {found}",
        where=str(folder),
        hint="name the file",
    )

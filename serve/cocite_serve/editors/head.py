"""What a draft that is being written says of itself: title, abstract, year, and its bibliographies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.draft import Kind
from cocite.drafts.latex_source import LatexSource, Macro
from cocite.drafts.reading import read_text
from cocite.errors import InputError
from cocite_serve.editors.surroundings import balanced

MAX_HEAD = 12_000
"""Characters from the beginning of a draft, within which title and abstract are looked for."""
_BEGIN = re.compile(r"\\begin\s*\{document\}")
_FIRST_SECTION = re.compile(r"\\(?:section|chapter|part)\b")
_BIBLIOGRAPHY = re.compile(r"\\(?:bibliography|addbibresource)\s*(?:\[[^\[\]]{0,200}\])?\s*\{[^{}]{0,1000}\}")
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\n]*)$", re.MULTILINE)
_ROOT = re.compile(
    r"^[ \t]*%[ \t]*!TEX[ \t]+root[ \t]*=[ \t]*([^\n]{1,300}\.tex)[ \t]*$", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Head:
    """What a draft says of itself.

    Attributes:
        title, abstract: "" where it has none.
        authors: that it names.
        year: None where it has none.
        bibliographies: names of .bib files, as written.
        macros: that a LaTeX draft defines.
        root: the main file that a part of a LaTeX draft names; "" for none.
        is_part: whether it is LaTeX without a document class: a part of a larger draft.

    Example:
        >>> head = read_head("# Parsing\\n\\n## Abstract\\n\\nWe parse.\\n\\n## Introduction\\n", "markdown")
        >>> head.title, head.abstract
        ('Parsing', 'We parse.')
    """

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    bibliographies: tuple[str, ...] = ()
    macros: Mapping[str, Macro] = field(default_factory=dict)
    root: str = ""
    is_part: bool = False


def read_head(text: str, kind: Kind) -> Head:
    """What a LaTeX or Markdown draft says of itself; what cannot be read is left out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if kind == "markdown":
        return _read(_markdown_head(text), kind, ())
    source = LatexSource("", text)
    readable = source.readable
    begin = _BEGIN.search(readable)
    section = _FIRST_SECTION.search(readable, begin.end() if begin else 0)
    end = min(section.start() if section else len(readable), MAX_HEAD)
    names = tuple(match[0] for match in _BIBLIOGRAPHY.finditer(readable))[:20]
    head = readable[:end] + ("\\end{document}" if begin and begin.end() <= end else "")
    found = _read(balanced(head), kind, names)
    root = _ROOT.search(text[:2_000])
    return Head(
        found.title,
        found.abstract,
        found.authors,
        found.year,
        found.bibliographies,
        source.macros,
        root[1].strip() if root else "",
        "\\documentclass" not in readable[:100_000],
    )


def _markdown_head(text: str) -> str:
    """A text up to the first heading that is neither its title nor that of its abstract."""
    for number, match in enumerate(_HEADING.finditer(text, 0, MAX_HEAD)):
        if not (is_abstract_heading(match[2]) or (number == 0 and match[1] == "#")):
            return text[: match.start()]
    return text[:MAX_HEAD]


@lru_cache(maxsize=16)
def _read(head: str, kind: Kind, bibliographies: tuple[str, ...]) -> Head:
    """Read a head; the same while the rest of the draft is written."""
    named = _named(bibliographies)
    try:
        draft = read_text(head, kind)
    except InputError:
        return Head(bibliographies=named)
    return Head(draft.title, draft.abstract, draft.authors, draft.year, named or draft.bibliographies)


def _named(commands: tuple[str, ...]) -> tuple[str, ...]:
    """The names that ``\\\\bibliography`` and ``\\\\addbibresource`` give."""
    listed = [command[command.rindex("{") + 1 : -1] for command in commands]
    return tuple(name.strip() for names in listed for name in names.split(",") if name.strip())

"""The text around a citation of a draft that is being written, as a query has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from cocite.drafts.draft import Kind
from cocite.drafts.latex_source import Macro
from cocite.drafts.reading import read_text
from cocite.errors import InputError
from cocite_serve.editors.cursor import Spot

BEFORE, AFTER = 1_500, 800
"""Characters of the source that are read around a citation; a context has 200 printed ones each side."""
MAX_DEFINITIONS = 10_000
"""Characters of macros that are read with them."""
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_PAIRS = re.compile(r"\\(begin|end)\s*\{([^{}\\]{0,60})\}|\\.|[{}]", re.DOTALL)
_NAMES = re.compile(r"\\([A-Za-z]+)")


def context_at(text: str, spot: Spot, kind: Kind, macros: Mapping[str, Macro]) -> str:
    """The text around a citation, which reads ``TARGETCIT``; "" where there are no words.

    An unfinished text is read as far as it goes: braces and environments that are open in the excerpt are left out.

    Args:
        text: of the draft.
        spot: the citation.
        kind: of the draft.
        macros: that a LaTeX draft defines.

    Example:
        >>> from cocite_serve.editors.cursor import find_spot
        >>> text = "\\\\emph{We measure \\\\textbf{quality} by BLEU~\\\\cite{pap"
        >>> context_at(text, find_spot(text, len(text), "latex"), "latex", {})
        'We measure quality by BLEU TARGETCIT'
    """
    start = max(0, spot.outer_start - BEFORE)
    before = _lines(text[start : spot.outer_start])
    if start:
        # An excerpt begins with a paragraph, or at least with a word.
        cut = _PARAGRAPH.search(before) or re.search(r"\s", before)
        before = before[cut.end() :] if cut else before
    after = _lines(text[spot.outer_end : spot.outer_end + AFTER])
    last = None
    for last in _PARAGRAPH.finditer(after):  # noqa: B007
        pass
    if last is not None and spot.outer_end + AFTER < len(text):
        after = after[: last.start()]
    return _context(before, after, kind, _definitions(before + after, macros) if kind == "latex" else "")


def balanced(latex: str) -> str:
    """A text with spaces in place of the braces, ``\\\\begin`` and ``\\\\end`` that have no partner in it.

    Example:
        >>> balanced("a} \\\\textbf{b} {c")
        'a  \\\\textbf{b}  c'
    """
    open_: list[tuple[str, int, int]] = []
    lonely: list[tuple[int, int]] = []
    for match in _PAIRS.finditer(latex):
        name = f"environment {match[2]}" if match[1] else match[0]
        span = match.span()
        if match[1] == "begin" or name == "{":
            open_.append((name, *span))
        elif match[1] == "end" or name == "}":
            partner = name if match[1] else "{"
            if any(entry[0] == partner for entry in open_):
                while open_[-1][0] != partner:
                    lonely.append(open_.pop()[1:])
                open_.pop()
            else:
                lonely.append(span)
    lonely += [entry[1:] for entry in open_]
    parts, at = [], 0
    for start, end in sorted(lonely):
        parts += [latex[at:start], " " * (end - start)]
        at = end
    return "".join([*parts, latex[at:]])


@lru_cache(maxsize=64)
def _context(before: str, after: str, kind: Kind, definitions: str) -> str:
    """The context of a gap between two texts: the same while no more than its key is typed."""
    gap = "\\cite{?}" if kind == "latex" else "[@?]"
    body = f"{before}{gap}{after}"
    if kind == "latex":
        body = balanced(body)
    found = _read(definitions + body, len(definitions) + len(before) + gap.index("?"), kind)
    if found is None:
        # What no parser reads is words and signs.
        found = _read(f"{before}[CIT]{after}", len(before) + 1, "text")
    return found or ""


def _read(text: str, at: int, kind: Kind) -> str | None:
    """The context of the gap at a place; None: the text cannot be read, or has no gap there."""
    try:
        draft = read_text(text, kind)
    except InputError:
        return None
    for gap in draft.gaps:
        if gap.place.start <= at <= gap.place.end:
            return gap.context if gap.has_words else ""
    return None


def _definitions(excerpt: str, macros: Mapping[str, Macro]) -> str:
    """The definitions of the macros that an excerpt uses, and of those that these use."""
    parts: dict[str, str] = {}
    waiting = [excerpt]
    size = 0
    while waiting:
        for name in _NAMES.findall(waiting.pop()):
            if name in parts or name not in macros:
                continue
            macro = macros[name]
            count = f"[{macro.arguments}]" if macro.arguments else ""
            default = f"[{macro.default}]" if macro.default is not None else ""
            definition = f"\\newcommand{{\\{name}}}{count}{default}{{{macro.body}}}\n"
            size += len(definition)
            if size <= MAX_DEFINITIONS:
                parts[name] = definition
                waiting.append(macro.body)
    return "".join(parts.values())


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")

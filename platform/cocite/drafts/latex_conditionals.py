"""What TeX skips of ``\\iffalse … \\else … \\fi``: the first branch; the second is printed."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\\(?:newif\s*\\if[A-Za-z@]+"
    r"|(iffalse|else|fi"
    r"|if(?:case|cat|csname|defined|dim|eof|fontchar|hbox|hmode|inner|mmode|num|odd|true|vbox|vmode|void|x|pdf"
    r"|xetex|luatex|PDFTeX|XeTeX|LuaTeX)?)(?![A-Za-z@]))"
)
"""TeX's own conditionals, those of its engines, and what divides and ends one; ``\\iff`` and ``\\ifthenelse`` are none.

The declaration of a conditional has the look of one, and opens none.
"""
_NEW = re.compile(r"\\newif\s*\\(if[A-Za-z@]+)")


def skipped_branches(text: str) -> dict[int, list[tuple[int, int]]]:
    """Where each ``\\iffalse`` stands that a ``\\fi`` closes -> the characters of it that print nothing, in order.

    A conditional within the skipped branch has its own ``\\else`` and ``\\fi``, as TeX counts them.

    Example:
        >>> skipped_branches(r"a \\iffalse b \\else c \\fi d")
        {2: [(2, 18), (21, 24)]}
        >>> skipped_branches(r"\\iffalse a \\ifx b \\fi c \\fi d")
        {0: [(0, 27)]}
    """
    if r"\iffalse" not in text:
        return {}
    own = set(_NEW.findall(text))
    tokens = _TOKEN
    if own:
        names = "|".join(sorted(map(re.escape, own), key=len, reverse=True))
        tokens = re.compile(rf"{_TOKEN.pattern}|\\({names})(?![A-Za-z@])")
    found: dict[int, list[tuple[int, int]]] = {}
    open_: list[tuple[int, bool, re.Match[str] | None]] = []
    for match in tokens.finditer(text):
        name = match[1] or (match[2] if own else None)
        if name is None:
            continue
        if name == "else":
            if open_ and open_[-1][2] is None:
                open_[-1] = (*open_[-1][:2], match)
        elif name == "fi":
            if not open_:
                continue
            start, is_false, other = open_.pop()
            if is_false and other is None:
                found[start] = [(start, match.end())]
            elif is_false and other is not None:
                found[start] = [(start, other.end()), match.span()]
        else:
            open_.append((match.start(), name == "iffalse", None))
    return found

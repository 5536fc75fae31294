"""The authors that a draft names: papers of theirs, and what they cited before, are likelier to be cited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pylatexenc import latexwalker as lw

from cocite.corpus.latex import from_latex
from cocite.drafts.latex_nodes import arguments_of

MAX_AUTHORS = 100
"""Authors of a draft; more are left out."""
_CHARS = 2_000
"""Characters of a text of names that are read."""
_AND = "\x1e"
_APART = {
    **dict.fromkeys(("and", "And", "AND"), _AND),
    **dict.fromkeys(("quad", "qquad", "hfill"), ";"),
    **dict.fromkeys(("\\", "newline"), "\n"),
}
"""Macros that divide names, as characters."""
_BESIDE = frozenset(
    """thanks inst textsuperscript footnote footnotemark footnotetext orcidID orcidlink email texttt tt url href affil
    affiliation address institute IEEEauthorblockA IEEEmembership Letter vspace hspace""".split()
)
"""Macros beside a name: marks of affiliations, addresses and spaces."""
_BETWEEN = re.compile(r"[,;&]|\band\b")
_MARKS = re.compile(r"[\d*†‡§¶∗^]+")
_PLACES = re.compile(
    r"@|universi|institut|departmen|laborator|college|school|centre|center|research|academy|inc\.|ltd|corporation",
    re.IGNORECASE,
)
_WORDS, _LETTERS = range(2, 7), 100
"""Words of a name, and the most characters."""


def latex_authors(nodes: Sequence[Any]) -> tuple[str, ...]:
    """The names in the argument of LaTeX's ``\\\\author``.

    Names stand between ``\\\\and``, commas or spaces such as ``\\\\quad``; below the first line are affiliations,
    unless several authors share the lines.

    Example:
        >>> from pylatexenc.latexwalker import LatexWalker
        >>> source = r"Ann Lee\\thanks{Equal.} \\\\ Some University \\and Bo {\\L}ukasz$^2$ \\\\ bo@example.org"
        >>> latex_authors(LatexWalker(source).get_latex_nodes()[0])
        ('Ann Lee', 'Bo Łukasz')
    """
    names: list[str] = []
    for block in "".join(_printed(nodes)).split(_AND):
        lines = [line for line in block.split("\n") if line.strip()]
        shared = lines and len(_pieces(lines[0])) > 1
        names += [piece for line in (lines if shared else lines[:1]) for piece in _pieces(line)]
    return _names(names)


def listed_authors(value: Any) -> tuple[str, ...]:
    """The names in the ``author`` of Markdown's front matter: a text, or a list of texts or of mappings with a name.

    Example:
        >>> listed_authors("Ann Lee and Bo Kim")
        ('Ann Lee', 'Bo Kim')
        >>> listed_authors([{"name": "Ann Lee", "affiliation": "Some University"}, "Bo Kim"])
        ('Ann Lee', 'Bo Kim')
    """
    items = value if isinstance(value, list) else [value]
    names: list[str] = []
    for item in items[:MAX_AUTHORS]:
        name = item.get("name") if isinstance(item, Mapping) else item
        names += _pieces(name[:_CHARS]) if isinstance(name, str) else []
    return _names(names)


def _printed(nodes: Sequence[Any]) -> Iterator[str]:
    """What nodes print, but for what stands beside names."""
    beside = False
    for node in nodes:
        if isinstance(node, lw.LatexCharsNode):
            beside = beside and not node.chars.strip()
            yield node.chars.replace("\n", " ")
        elif isinstance(node, lw.LatexGroupNode):
            if not beside and node.delimiters[0] == "{":
                yield from _printed(node.nodelist)
        elif isinstance(node, lw.LatexMacroNode):
            beside = node.macroname in _BESIDE
            if node.macroname in _APART:
                yield _APART[node.macroname]
            elif not beside:
                yield from _macro(node)
        elif isinstance(node, lw.LatexSpecialsNode):
            yield " "


def _macro(node: Any) -> Iterator[str]:
    """An accent or a symbol, or the argument of another macro, such as one for bold letters."""
    groups = [one for one in arguments_of(node) if isinstance(one, lw.LatexGroupNode)]
    if len(node.macroname) > 1 and groups:
        yield from _printed(groups)
    else:
        printed = from_latex(node.latex_verbatim())
        yield "" if printed == node.macroname else printed  # one that is not known


def _pieces(line: str) -> list[str]:
    return _BETWEEN.split(line)


def _names(pieces: Sequence[str]) -> tuple[str, ...]:
    """Those pieces that look like names, each once."""
    bare = (" ".join(_MARKS.sub(" ", piece).split()).strip(" .:~") for piece in pieces)
    short = (name for name in bare if len(name) <= _LETTERS and len(name.split()) in _WORDS)
    names = (name for name in short if not _PLACES.search(name))
    return tuple(dict.fromkeys(names))[:MAX_AUTHORS]

"""Nodes of LaTeX as pylatexenc gives them: what they are read in, their arguments, and their places."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pylatexenc import latexwalker as lw

from cocite.corpus.latex import from_latex
from cocite.drafts.draft import GapForm, Place
from cocite.drafts.latex_source import LatexSource

PARAMETER = re.compile(r"#(\d)")
"""Where the body of a macro has an argument."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What nodes are read in: a file, or the expansion of a macro with its arguments.

    Attributes:
        source: the file.
        call: the macro call in the file that is expanded; None: the nodes are the file's own.
        arguments: (nodes, their frame) of each argument.
        depth: macros that expand within one another.
        form: how a citation is put into a gap of the expansion.

    Example:
        >>> Frame(LatexSource("a.tex", "We parse.")).depth
        0
    """

    source: LatexSource
    call: Place | None = None
    arguments: tuple[tuple[Sequence[Any], Any], ...] = ()
    depth: int = 0
    form: GapForm = "whole"

    def place(self, start: int, end: int) -> Place:
        """The place in the file of some characters of the nodes' text."""
        return self.call or self.source.place(start, end)


@lru_cache(maxsize=4096)
def symbol_of(latex: str) -> str:
    """What an accent or a symbol prints; drafts repeat few of them often."""
    return from_latex(latex)


def place_of_keys(argument: Any, frame: Frame) -> Place | None:
    """Where the file has the keys of a citation; None: in the body of a macro."""
    if frame.call is None:
        grouped = isinstance(argument, lw.LatexGroupNode)
        end = argument.pos + argument.len
        closed = grouped and argument.len > 1 and argument.latex_verbatim().endswith("}")
        return frame.source.place(argument.pos + grouped, end - closed)
    parameter = PARAMETER.fullmatch(argument.latex_verbatim().strip("{} "))
    if parameter is None or not 0 < int(parameter[1]) <= len(frame.arguments):
        return None
    nodes, outer = frame.arguments[int(parameter[1]) - 1]
    if outer.call is not None or not nodes:
        return None
    return outer.source.place(nodes[0].pos, nodes[-1].pos + nodes[-1].len)  # type: ignore[no-any-return]


def form_of(frame: Frame) -> GapForm:
    """How a citation is put into a gap among the nodes of a frame."""
    return frame.form if frame.call is not None else "whole"


def space_behind(node: Any) -> str:
    """The space behind a macro, or behind its last argument, which the parser counts as a part of the macro."""
    text: str = node.latex_verbatim()
    return text[len(text.rstrip()) :]


def arguments_of(node: Any) -> list[Any]:
    """The arguments of a macro that are there, without stars."""
    given = node.nodeargd.argnlist if node.nodeargd else None
    return [
        argument
        for argument in given or ()
        if argument is not None and not (isinstance(argument, lw.LatexCharsNode) and argument.chars == "*")
    ]


def has_macro(nodes: Sequence[Any], names: Collection[str]) -> bool:
    """Whether a macro of some names stands in some groups."""
    macros = (one for node in nodes for one in inside(node) if isinstance(one, lw.LatexMacroNode))
    return any(one.macroname in names for one in macros)


def written(nodes: Sequence[Any]) -> str:
    """The source of some nodes and of what their groups hold, without comments: authors end lines of keys by them."""
    pieces = (one for node in nodes if node is not None for one in inside(node))
    return "".join(one.latex_verbatim() for one in pieces if not isinstance(one, lw.LatexCommentNode))


def inside(node: Any) -> Sequence[Any]:
    """The nodes within a group; of any other node, itself."""
    if node is None:
        return []
    return list(node.nodelist) if isinstance(node, lw.LatexGroupNode) else [node]

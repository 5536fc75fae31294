"""The commands of LaTeX that cite, and their arguments: keys come last, and some take several groups of them.

``\\cites(note)(note)[note][note]{key}[note][note]{key}`` goes on as long as arguments follow, and
``\\volcite[note]{volume}[pages]{key}`` names a volume.

Source: the manual of biblatex, *Qualified Citation Lists* and *Special Commands*.
"""

from __future__ import annotations

import re
from typing import Any

from pylatexenc.latexwalker import LatexGroupNode
from pylatexenc.macrospec import MacroSpec, MacroStandardArgsParser, ParsedMacroArgs

from cocite.drafts.latex_macros import ASKING

_MULTIPLE = re.compile(r"[a-zA-Z]*[cC]ite(?:s|texts)")
_VOLUME = re.compile(r"[a-zA-Z]*[vV]olcites?")
_NOTES = re.compile(r"\*?(?:\s*\([^()]{0,2000}\)){0,2}")
_OPEN = re.compile(r"[ \t]*\n?[ \t]*([\[{])")
"""What begins the next argument; an empty line ends the command."""
_BESIDE = re.compile(r"(\[[^\[\]]{0,2000}\])?(\{)?")


def citing_macro(name: str) -> MacroSpec:
    """How the parser reads a command that cites, or that asks for a citation."""
    if name in ASKING:
        return MacroSpec(name, args_parser=_Attached())
    if cites_groups(name):
        return MacroSpec(name, args_parser=_Groups(2 if _VOLUME.fullmatch(name) else 1))
    return MacroSpec(name, "*[{[{" if _VOLUME.fullmatch(name) else "*[[{")


def cites_groups(name: str) -> bool:
    """Whether each argument of a command that cites has keys, and not the last alone.

    Example:
        >>> [cites_groups(name) for name in ("cites", "Parencites", "footcitetexts", "cite", "citetext")]
        [True, True, True, False, False]
    """
    return bool(_MULTIPLE.fullmatch(name))


class _Attached(MacroStandardArgsParser):  # type: ignore[misc]
    """Takes what stands right behind a command of which nothing is known: it may have no argument, and text follows."""

    def parse_args(self, w: Any, pos: int, parsing_state: Any = None) -> tuple[Any, int, int]:
        beside = None if w.s[pos - 1].isspace() else _BESIDE.match(w.s, pos)
        spec = "".join(found[0] for found in beside.groups("") if found) if beside else ""
        return MacroStandardArgsParser(spec).parse_args(w, pos, parsing_state)  # type: ignore[no-any-return]


class _Groups(MacroStandardArgsParser):  # type: ignore[misc]
    """Gives the groups of keys alone as a command's arguments; the last of each ``size`` groups has keys."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def parse_args(self, w: Any, pos: int, parsing_state: Any = None) -> tuple[Any, int, int]:
        notes = _NOTES.match(w.s, pos)
        at = notes.end() if notes else pos
        groups: list[Any] = []
        while found := _OPEN.match(w.s, at):
            start = found.start(1)
            if found[1] == "[":
                optional = w.get_latex_maybe_optional_arg(start, parsing_state=parsing_state)
                if optional is None:
                    break
                node, start, length = optional
            else:
                node, start, length = w.get_latex_expression(
                    start, strict_braces=False, parsing_state=parsing_state
                )
                if not isinstance(node, LatexGroupNode):
                    break
                groups.append(node)
            at = start + length
        keys = groups[self.size - 1 :: self.size]
        return ParsedMacroArgs(argspec="{" * len(keys), argnlist=keys), pos, at - pos

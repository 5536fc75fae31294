"""Walks the parsed nodes of LaTeX and writes down its prose: blocks of text with their citations and gaps."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Any

from pylatexenc import latexwalker as lw

from cocite.drafts.author_names import latex_authors
from cocite.drafts.blocks import Block, BlockBuilder, Mark, bare
from cocite.drafts.draft import GapForm, Place
from cocite.drafts.gaps import TODO_WORDS, is_missing, lacks_key, text_gaps
from cocite.drafts.latex_citations import cites_groups
from cocite.drafts.latex_macros import (
    ACCENTS,
    APART,
    ASKING,
    HEAD,
    IMPORTS,
    INPUTS,
    LAST_ALONE,
    MATH,
    SECTIONS,
    SKIPPED,
    UNPRINTED,
)
from cocite.drafts.latex_nodes import (
    PARAMETER,
    Frame,
    arguments_of,
    form_of,
    has_macro,
    inside,
    place_of_keys,
    space_behind,
    symbol_of,
    written,
)
from cocite.drafts.latex_source import LatexProject, LatexSource, Macro
from cocite.drafts.limits import MAX_DEPTH, MAX_EXPANSION, Budget
from cocite.errors import InputError

_TODO = re.compile(rf"\b(?:{TODO_WORDS})\b", re.IGNORECASE)
_BREAK = re.compile(r"\n[ \t]*\n\s*")


class Prose:
    """Collects what a draft's nodes print; :mod:`cocite.drafts.latex` drives it.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> draft = read_text("\\\\newcommand{\\\\fix}{\\\\cite{?}} Attention \\\\emph{helps} \\\\fix.", "latex")
        >>> draft.gaps[0].context
        'Attention helps TARGETCIT.'
    """

    def __init__(
        self,
        project: LatexProject,
        macros: dict[str, Macro],
        cites: frozenset[str],
        parse: Callable[[str], list[Any]],
        budget: Budget,
    ) -> None:
        self.project, self.macros, self.cites, self.parse, self.budget = project, macros, cites, parse, budget
        self.builder = BlockBuilder(budget.where)
        self.title = self.abstract = self.date = ""
        self.authors: list[str] = []
        self.bibliographies: dict[str, None] = {}  # an ordered set
        self.bibliography_ends: dict[str, tuple[int, str, str]] = {}
        self.bibitems: dict[str, str] = {}
        self._items: list[tuple[str, int]] = []
        self._bodies: dict[str, list[Any]] = {}
        self._files: dict[str, list[Any]] = {}
        self._stack: list[str] = []

    # -- files ------------------------------------------------------------------------------------------------

    def nodes_of(self, source: LatexSource) -> list[Any]:
        """The nodes of a file, parsed once."""
        if source.name not in self._files:
            self._files[source.name] = self.parse(source.readable)
        return self._files[source.name]

    def walk_file(self, source: LatexSource, nodes: Sequence[Any]) -> None:
        """Write down a file's prose."""
        self._stack.append(source.name)
        frame = Frame(source)
        self.walk(nodes, frame)
        self._stack.pop()
        if not self._stack:
            self.builder.end()

    def preamble(self, nodes: Sequence[Any], frame: Frame) -> None:
        """Take title, authors, abstract, date and bibliographies from what stands before the document."""
        self._stack.append(frame.source.name)
        for node in nodes:
            self.budget.step()
            if isinstance(node, lw.LatexMacroNode):
                if node.macroname in HEAD:
                    self._macro(node, frame)
                elif node.macroname in INPUTS | IMPORTS and (inner := self._input(node, frame)) is not None:
                    self.preamble(self.nodes_of(inner), Frame(inner))
        self._stack.pop()

    # -- nodes ------------------------------------------------------------------------------------------------

    def walk(self, nodes: Sequence[Any], frame: Frame) -> None:
        """Write down the prose of some nodes."""
        for node in nodes:
            if node is None:
                continue
            self.budget.step()
            self.builder.source = frame.place(node.pos, node.pos + node.len)
            self.builder.line = self.builder.source.line
            if isinstance(node, lw.LatexCharsNode):
                self._chars(node, frame)
            elif isinstance(node, lw.LatexMacroNode):
                self._macro(node, frame)
            elif isinstance(node, lw.LatexGroupNode):
                self.walk(node.nodelist, frame)
            elif isinstance(node, lw.LatexEnvironmentNode):
                self._environment(node, frame)
            elif isinstance(node, lw.LatexMathNode):
                self.builder.text(" ".join(node.latex_verbatim().split()))
            elif isinstance(node, lw.LatexSpecialsNode):
                if "\n" in node.specials_chars:
                    self.builder.end()
                else:
                    self.builder.text(symbol_of(node.specials_chars) or " ")
            elif isinstance(node, lw.LatexCommentNode) and node.comment_post_space.count("\n") > 1:
                self.builder.end()

    def _chars(self, node: Any, frame: Frame) -> None:
        at = 0
        for match in PARAMETER.finditer(node.chars) if frame.arguments else ():
            self._text(node.chars[at : match.start()], node.pos + at, frame)
            self._argument(int(match[1]), frame)
            at = match.end()
        self._text(node.chars[at:], node.pos + at, frame)

    def _argument(self, number: int, frame: Frame) -> None:
        if 0 < number <= len(frame.arguments):
            nodes, outer = frame.arguments[number - 1]
            self.walk(nodes, outer)

    def _text(self, text: str, pos: int, frame: Frame) -> None:
        at = 0
        for match in text_gaps(text):
            self._paragraphs(text[at : match.start()], pos + at, frame)
            place = frame.place(pos + match.start(), pos + match.end())
            self.builder.mark(Mark(place, is_gap=True, form=form_of(frame)))
            at = match.end()
        self._paragraphs(text[at:], pos + at, frame)

    def _paragraphs(self, text: str, pos: int, frame: Frame) -> None:
        at = 0
        for match in _BREAK.finditer(text):
            self._piece(text[at : match.start()], pos + at, frame)
            self.builder.end()
            at = match.end()
        self._piece(text[at:], pos + at, frame)

    def _piece(self, text: str, pos: int, frame: Frame) -> None:
        if frame.call is None:
            self.builder.copy(text, frame.source.place(pos, pos + len(text)))
        else:  # an argument may have been written before
            self.builder.source = frame.call
            self.builder.text(text)

    def _macro(self, node: Any, frame: Frame) -> None:
        name = node.macroname
        if name in self.macros:
            self._expand(node, frame)
        elif name in self.cites and name != "nocite" and name not in ASKING:
            self._cite(node, frame)
        elif name == "todo":
            if _TODO.search(self.plain(arguments_of(node)[-1:], frame)):
                self._gap(node, frame)
        elif name in ASKING:
            self._gap(node, frame)
        elif name in SECTIONS:
            self.builder.end()
            self.walk(arguments_of(node)[-1:], frame)
            self.builder.end("heading", SECTIONS[name])
        elif name in ("title", "icmltitle"):
            self.title = self.title or self._aside(node, frame)
        elif name in ("abstract", "Abstract"):
            self.abstract = self.abstract or self._aside(node, frame)
        elif name == "author":
            self.authors += latex_authors(inside(next(iter(arguments_of(node)[-1:]), None)))
        elif name == "date":
            self.date = self.plain(arguments_of(node)[-1:], frame)
        elif name in ("footnote", "footnotetext", "thanks", "caption"):
            self._footnote(node, frame)
        elif name in INPUTS | IMPORTS:
            inner = self._input(node, frame)
            if inner is not None:
                self.walk_file(inner, self.nodes_of(inner))
        elif name in ("bibliography", "addbibresource"):
            self._bibliography(node, frame)
        elif name == "bibitem":
            self.builder.end()
            self._items.append((self.plain(arguments_of(node)[-1:], frame).strip(), len(self.builder.blocks)))
        elif name in ("par", "item", "twocolumn"):
            self.builder.end()
            self.walk(arguments_of(node), frame)
        elif name == "\\":
            self.builder.text(" ")
        elif name == "verb":  # what it prints is no gap
            self.builder.text(getattr(node.nodeargd, "verbatim_text", ""))
        elif name in LAST_ALONE:
            self.walk(arguments_of(node)[-1:], frame)
        elif name not in UNPRINTED:
            self._other(node, frame)

    def _other(self, node: Any, frame: Frame) -> None:
        """A macro of which nothing is known but its arguments: accents and symbols are read by the library."""
        groups = [
            argument
            for argument in arguments_of(node)
            if not (isinstance(argument, lw.LatexGroupNode) and argument.delimiters[0] == "[")
        ]
        if groups and node.macroname.isalpha() and node.macroname not in ACCENTS:
            self.walk(groups, frame)
        else:
            verbatim = node.latex_verbatim()
            printed = symbol_of(verbatim.rstrip())
            following = node.parsing_state.s[node.pos + node.len : node.pos + node.len + 2]
            if not groups and following[:1] == "{" and following != "{}" and len(printed) > 1:
                printed = ""  # an unknown macro, whose argument is printed next
            # LaTeX takes the space behind a letter such as \\ss; behind a name authors mean it to stay.
            self.builder.text(printed + (" " if node.macro_post_space and len(printed) != 1 else ""))

    def _environment(self, node: Any, frame: Frame) -> None:
        name = node.envname
        if name in SKIPPED:
            return
        if name == "thebibliography":
            self._references(node, frame)
            return
        if name in MATH:
            inside = "".join(inner.latex_verbatim() for inner in node.nodelist)
            self.builder.text(f"${' '.join(inside.split())}$")
            return
        if name == "abstract":
            self.builder.end()
            self.walk(node.nodelist, frame)
            self.builder.end("abstract")
            return
        if name in APART:
            self.builder.end()
        self.walk(node.nodelist, frame)
        if name in APART:
            self.builder.end()

    # -- macros of the draft ----------------------------------------------------------------------------------

    def _expand(self, node: Any, frame: Frame) -> None:
        macro = self.macros[node.macroname]
        if frame.depth >= MAX_EXPANSION:
            raise InputError(
                f"the macro \\{node.macroname} expands to itself, or to more than {MAX_EXPANSION} within one another",
                where=str(frame.place(node.pos, node.pos + node.len)),
                hint="mend its definition",
            )
        if node.macroname not in self._bodies:
            self._bodies[node.macroname] = self.parse(macro.body)
        form: GapForm = "after" if macro.arguments else "whole"
        if frame.call is not None:
            form = frame.form
        given = list(node.nodeargd.argnlist or ()) if node.nodeargd else []
        arguments: list[tuple[Sequence[Any], Any]] = []
        for number in range(macro.arguments):
            argument = given[number] if number < len(given) else None
            if argument is None and number == 0 and macro.default is not None:
                default = Frame(frame.source, self._call(node, frame), form=form)
                arguments.append((self.parse(macro.default), default))
            else:
                arguments.append((inside(argument), frame))
        self.walk(
            self._bodies[node.macroname],
            Frame(frame.source, self._call(node, frame), tuple(arguments), frame.depth + 1, form),
        )
        self.builder.text(space_behind(node))

    def _call(self, node: Any, frame: Frame) -> Place:
        return frame.place(node.pos, node.pos + node.len - len(space_behind(node)))

    def plain(self, nodes: Sequence[Any], frame: Frame) -> str:
        """The source of some nodes with the arguments of an expanded macro in it, as keys and names are read."""
        text = written(nodes)
        if not frame.arguments:
            return text

        def argument(match: re.Match[str]) -> str:
            number = int(match[1])
            if not 0 < number <= len(frame.arguments):
                return ""
            self.budget.step()
            given, outer = frame.arguments[number - 1]
            return self.plain(given, outer)[:10_000]

        return PARAMETER.sub(argument, text)[:10_000]

    # -- what is found ----------------------------------------------------------------------------------------

    def _gap(self, node: Any, frame: Frame) -> None:
        self.builder.mark(Mark(self._call(node, frame), is_gap=True, form=form_of(frame)))
        self.builder.text(space_behind(node))

    def _cite(self, node: Any, frame: Frame) -> None:
        arguments = arguments_of(node)
        if not cites_groups(node.macroname):
            arguments = arguments[-1:]
        if not arguments:
            return self.builder.text(" ")
        if has_macro(arguments, self.cites):  # as in amsrefs' \citelist{\cite{lee} \cite{kim}}
            return self.walk(arguments, frame)
        groups = [[key.strip() for key in self.plain([one], frame).split(",")] for one in arguments]
        every = tuple(key for keys in groups for key in keys if not is_missing(key))
        gaps = [(one, keys) for one, keys in zip(arguments, groups, strict=True) if lacks_key(keys)]
        places = [place_of_keys(one, frame) for one, _ in gaps]
        if not all(places):  # the keys stand in the body of a macro
            call = self._call(node, frame)
            self.builder.mark(Mark(call, every, is_gap=True, form=form_of(frame)))
            return
        full = [key for keys in groups if not lacks_key(keys) for key in keys if not is_missing(key)]
        if not gaps or full:
            self.builder.mark(Mark(frame.place(node.pos, node.pos + node.len), tuple(full)))
        for number, (place, (_, keys)) in enumerate(zip(places, gaps, strict=True)):
            assert place is not None
            if number or full:
                self.builder.text(" ")
            known = tuple(key for key in keys if not is_missing(key))
            self.builder.mark(Mark(place, known, is_gap=True, form="keys"))

    def _aside(self, node: Any, frame: Frame) -> str:
        """What an argument prints, out of the text's order; gaps in it are none of the text's."""
        blocks = self.aside(arguments_of(node)[-1:], frame)
        return bare(" ".join(block.text for block in blocks if block.kind != "footnote"))

    def aside(self, nodes: Sequence[Any], frame: Frame) -> list[Block]:
        """What nodes print, which is no part of the text."""
        kept, self.builder = self.builder, BlockBuilder(self.budget.where)
        self.walk(nodes, frame)
        self.builder.end()
        blocks, self.builder = self.builder.blocks, kept
        return blocks

    def _footnote(self, node: Any, frame: Frame) -> None:
        kept, self.builder = self.builder, BlockBuilder(self.budget.where, line=self.builder.line)
        self.walk(arguments_of(node)[-1:], frame)
        self.builder.end("footnote")
        inner, self.builder = self.builder.blocks, kept
        if node.macroname != "thanks":
            self.builder.footnotes += inner

    def _references(self, node: Any, frame: Frame) -> None:
        """Take the printed references."""
        self._items = []
        blocks = self.aside(node.nodelist, frame)
        ends = [*(start for _, start in self._items[1:]), len(blocks)]
        for (key, start), end in zip(self._items, ends, strict=False):
            self.bibitems.setdefault(key, bare(" ".join(block.text for block in blocks[start:end])))

    def _input(self, node: Any, frame: Frame) -> LatexSource | None:
        # A folder is joined to the name of the file in it.
        names = [self.plain([argument], frame).strip().strip('"') for argument in arguments_of(node)]
        beside = self._stack[-1] if self._stack else frame.source.name
        inner = self.project.find(posixpath.join(*names) if names else "", beside)
        if inner is None:
            return None
        where = str(frame.place(node.pos, node.pos + node.len))
        if inner.name in self._stack:
            chain = " -> ".join([*self._stack[self._stack.index(inner.name) :], inner.name])
            message = f"the files input one another in a circle: {chain}"
            raise InputError(message, where=where, hint="take one \\input out")
        if len(self._stack) >= MAX_DEPTH:
            message = f"more than {MAX_DEPTH} files input one another"
            raise InputError(message, where=where, hint="put them together")
        return inner

    def _bibliography(self, node: Any, frame: Frame) -> None:
        argument = next(iter(arguments_of(node)[-1:]), None)
        if argument is None:
            return
        names = map(str.strip, self.plain([argument], frame).split(","))
        self.bibliographies |= dict.fromkeys(filter(None, names))
        if frame.call is None:
            if node.macroname == "bibliography":
                end = (argument.pos + argument.len - 1, ",", "")
            else:
                end = (argument.pos + argument.len, "\n\\addbibresource{", ".bib}")
            self.bibliography_ends = {frame.source.name: end}

"""Reads LaTeX: a file, a project of files, or a pasted text."""

from __future__ import annotations

import logging
import posixpath
import re
from typing import Any

from pylatexenc.latexwalker import (
    LatexEnvironmentNode,
    LatexMacroNode,
    LatexWalker,
    LatexWalkerParseError,
    get_default_latex_context_db,
)
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec

from cocite.corpus.records import PaperRecord
from cocite.drafts.author_names import MAX_AUTHORS
from cocite.drafts.blocks import assemble
from cocite.drafts.draft import Draft
from cocite.drafts.latex_citations import citing_macro
from cocite.drafts.latex_macros import ARGUMENTS, NO_GAPS
from cocite.drafts.latex_nodes import Frame
from cocite.drafts.latex_prose import Prose
from cocite.drafts.latex_source import LatexProject, LatexSource, Macro, open_brace
from cocite.drafts.limits import MAX_BIB_BYTES, Budget
from cocite.drafts.source_files import DraftFiles, text_of
from cocite.errors import InputError

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_INPUT = re.compile(
    r"\\(?:input|include|subfile|(?:sub)?(?:import|includefrom)\s*\{([^{}#\\]{0,300})\})\s*\{([^{}#\\]{1,300})\}"
)
"""A file that is input: its folder, and its name."""
_CITES = re.compile(r"\\([A-Za-z]*[cC]ite[A-Za-z]*)")


class _Walker(LatexWalker):  # type: ignore[misc]
    """The parser, which gives up when the time is over."""

    budget: Budget
    open_places: list[int]

    def _report_ignore_parse_error(self, exc: LatexWalkerParseError) -> None:
        self.open_places.append(exc.pos or 0)

    def get_token(self, *args: Any, **values: Any) -> Any:
        self.tokens = getattr(self, "tokens", 0) + 1
        if not self.tokens % 4096:
            self.budget.check_time()
        return super().get_token(*args, **values)


def read_latex(text: str, name: str, *, files: DraftFiles | None, budget: Budget) -> Draft:
    """Read a draft in LaTeX.

    Macros that the draft defines are expanded, ``\\input`` and ``\\include`` are followed within its folder, and
    comments, code and what ``\\iffalse`` hides are left out.

    Args:
        text: of the main file.
        name: of the main file, for places and messages.
        files: that it may read; None: a pasted text, which reads no other file.
        budget: what the reading may take.

    Raises:
        InputError: the draft has no text, or takes more than the limits allow.
    """
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # its messages would hold text of the draft
    project = LatexProject(files, budget)
    source = project.add(LatexSource(name, text))
    try:
        return _read(source, project, budget)
    except RecursionError:
        raise InputError(
            "braces or environments are nested too deeply",
            where=name or None,
            hint="close those that stay open",
        ) from None


def _read(source: LatexSource, project: LatexProject, budget: Budget) -> Draft:
    macros = _all_macros(source, project)
    context = get_default_latex_context_db()
    cites = {c for s in project.sources.values() for c in _CITES.findall(s.text)} - set(macros) - NO_GAPS
    context.add_context_category(
        "drafts",
        prepend=True,
        macros=[
            *(MacroSpec(name, args) for name, args in ARGUMENTS.items() if name not in macros),
            *(citing_macro(name) for name in sorted(cites)),
            *(MacroSpec(name, _argument_spec(macro)) for name, macro in macros.items()),
        ],
        environments=[EnvironmentSpec("thebibliography", "{"), EnvironmentSpec("minipage", "[{")],
    )

    def parse(latex: str) -> list[Any]:
        walker = _Walker(latex, latex_context=context)
        walker.budget, walker.open_places = budget, []
        try:
            nodes = list(walker.get_latex_nodes()[0])
        except LatexWalkerParseError as error:
            raise InputError(
                "is no LaTeX that can be read", where=source.name or None, hint="look for an open brace"
            ) from error
        brace = open_brace(latex)  # of one that the end of the file closes, the parser says nothing
        if brace is not None:
            walker.open_places.append(brace)
        if walker.open_places and len(project.warnings) < 20:
            excerpt_line = latex.count("\n", 0, min(walker.open_places)) + 1
            project.warnings.append(
                f"line {excerpt_line}: a brace, a dollar or an environment stays open here; "
                "what follows may be left out"
            )
        return nodes

    prose = Prose(project, macros, frozenset(cites), parse, budget)
    nodes = prose.nodes_of(source)
    document = next(
        (n for n in nodes if isinstance(n, LatexEnvironmentNode) and n.envname == "document"), None
    )
    if document is not None:
        prose.preamble([node for node in nodes if node.pos < document.pos], Frame(source))
        prose.walk_file(source, document.nodelist)
    else:
        start = next(
            (i + 1 for i, n in enumerate(nodes) if isinstance(n, LatexMacroNode) and n.macroname == "begin"),
            0,
        )
        prose.walk_file(source, nodes[start:] if start else nodes)
    entries = _take_bbl(prose, project, source)
    year = _YEAR.search(prose.date)
    return assemble(
        prose.builder.blocks,
        kind="latex",
        file=source.name,
        title=prose.title,
        budget=budget,
        abstract=prose.abstract,
        authors=tuple(dict.fromkeys(prose.authors))[:MAX_AUTHORS],
        year=int(year[0]) if year else None,
        bibliographies=tuple(prose.bibliographies),
        bibliography_ends=prose.bibliography_ends,
        sources={name: found.text for name, found in project.sources.items()},
        warnings=tuple(project.warnings),
        bibitems=prose.bibitems,
        entries=entries,
    )


def _take_bbl(prose: Prose, project: LatexProject, source: LatexSource) -> tuple[PaperRecord, ...]:
    """Take the references beside a draft whose .bib file is missing, as in sources from arXiv.

    What BibTeX printed becomes ``bibitems``; the entries are returned that Biber wrote for biblatex.
    """
    files, name = project.files, f"{posixpath.splitext(source.name)[0]}.bbl"
    if files is None or not prose.bibliographies or not _is_there(files, name):
        return ()
    wanted = (one if one.endswith(".bib") else f"{one}.bib" for one in prose.bibliographies)
    if all(_is_there(files, one) for one in wanted):
        return ()
    if files.size(name) > MAX_BIB_BYTES:
        project.warnings.append(f"{name} has more than {MAX_BIB_BYTES >> 20} MiB; it is left out")
        return ()
    text = text_of(files.data(name), name)
    if r"\begin{thebibliography}" in text:
        printed = project.add(LatexSource(name, text))
        prose.aside(prose.nodes_of(printed), Frame(printed))
        del project.sources[name]  # the author does not write it
        return ()
    # Its parser takes a while to import.
    from cocite.drafts.biblatex_bbl import biblatex_papers

    entries = []
    for paper in biblatex_papers(text):
        project.budget.check_time()
        entries.append(paper)
    return tuple(entries)


def _is_there(files: DraftFiles, name: str) -> bool:
    try:
        return files.find(name) is not None
    except ValueError:
        return False


def _all_macros(source: LatexSource, project: LatexProject) -> dict[str, Macro]:
    """The macros that the draft's files define; the first file that the search reaches names a macro."""
    macros: dict[str, Macro] = {}
    waiting, seen = [source], set()
    while waiting:
        current = waiting.pop()
        if current.name in seen:
            continue
        seen.add(current.name)
        macros = current.macros | macros
        for folder, name in dict.fromkeys(_INPUT.findall(current.readable)):
            project.budget.check_time()
            found = project.find(posixpath.join(folder, name), current.name)
            if found is not None:
                waiting.append(found)
    return macros


def _argument_spec(macro: Macro) -> str:
    if macro.default is not None:
        return "[" + "{" * (macro.arguments - 1)
    return "{" * macro.arguments

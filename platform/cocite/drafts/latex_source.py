"""The files of a LaTeX draft: found within its folder, and made ready for the parser with all positions kept."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from cocite.drafts.draft import Place
from cocite.drafts.latex_conditionals import skipped_branches
from cocite.drafts.limits import MAX_FILES, MAX_PARAGRAPH, Budget
from cocite.drafts.source_files import EVERY_BYTE, DraftFiles, OutsideError, encoding_of, read_utf8
from cocite.errors import InputError

_COMMENT = re.compile(
    r"\\(?:verb|(verb\*|lstinline(?:\[[^\[\]\n]{0,200}\])?))([^\w\s*{\[])[^\n]{0,1000}?\2"
    r"|(\\(?:url|nolinkurl|path|href)\s*\{[^{}\n]{0,2000}\})"
    r"|(?<!\\)((?:\\\\)*+%)([^\n]*)"
)
"""A comment, or else code or an address, where a sign of percent begins none."""
_PERCENT = re.compile(r"(?<!\\)%")
_UNREAD = frozenset(
    """verbatim verbatim* Verbatim Verbatim* BVerbatim LVerbatim alltt lstlisting minted comment filecontents
    filecontents* tikzpicture Sinput Soutput Scode Code CodeInput CodeOutput""".split()
)
"""Environments that print no prose and may hold anything; Sweave and the class of its journal have the last ones."""
_BEGIN = re.compile(r"\\begin\{([^{}\\\n]{1,100})\}|\\(iffalse)(?![A-Za-z@])")
_ENVIRONMENT = re.compile(
    r"\\(?:(?:re|provide)?newenvironment|lstnewenvironment)\*?\s*\{([^{}\\]{1,100})\}\s*"
    r"(?:\[\d\]\s*)?(?:\[[^\[\]]{0,500}\]\s*)?(?=\{)"
)
_VERBATIM = re.compile(r"\\DefineVerbatimEnvironment\s*\{([^{}\\]{1,100})\}")
_HOLDS_ANYTHING = re.compile(
    r"\\(?:[BL]?Verbatim|verbatim|alltt|lstlisting|minted|comment)(?![a-zA-Z])|\\begin\{verbatim\}"
)
_DEFINITION = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*(?:\{\s*\\([A-Za-z]+)\s*\}|\\([A-Za-z]+))\s*"
    r"(?:\[(\d)\])?\s*(\[[^\[\]]{0,500}\])?\s*(?=\{)"
    r"|\\[gex]?def\s*\\([A-Za-z]+)\s*((?:#\d)*)\s*(?=\{)"
)
_CHUNK = re.compile(r"^<<[^\n]*>>=", re.MULTILINE)
_CHUNK_END = re.compile(r"^@[^\n]*", re.MULTILINE)
_SEXPR = re.compile(r"\\Sexpr\{[^{}\n]*\}")
"""Code of Sweave and knitr, in lines of its own and within one."""
_DOLLAR = re.compile(r"\\verb\*?([^\w\s*])[^\n]*?\1|\\.|(\$)", re.DOTALL)
_BARE_INPUT = re.compile(r"(\\input)[ \t]([^\s{}\\#%]{1,300})\s")
"""TeX's own form, which takes a name up to the next space."""
_VERB = re.compile(r"\\verb\*?([^\w\s*]).*?\1")
_LINE_END = re.compile(r"\r\n|\r|\n")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_NOT_SPACE = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro that the draft defines.

    Attributes:
        arguments: how many it takes.
        default: of its first argument; None: all have to be given.
        body: what it expands to, with ``#1`` and so on.

    Example:
        >>> blank_definitions("\\\\newcommand{\\\\x}[1]{see #1}")[1]
        {'x': Macro(arguments=1, default=None, body='see #1')}
    """

    arguments: int
    default: str | None
    body: str


@dataclass
class LatexSource:
    """A file's text, and the same text without what the parser is not to see, each position where it was.

    Example:
        >>> source = LatexSource("a.tex", "One % \\\\cite{?}\\nTwo")
        >>> source.readable
        'One %         \\nTwo'
        >>> source.place(16, 19).line
        2
    """

    name: str
    text: str
    readable: str = field(init=False)
    macros: dict[str, Macro] = field(init=False)
    lone_dollars: list[int] = field(init=False)
    """Where dollars stand that open a formula and do not close it in their paragraph, as TeX has it."""

    def __post_init__(self) -> None:
        readable = _COMMENT.sub(_without_comment, _without_chunks(self.text))
        # Braces in place of the spaces keep all positions.
        readable, environments = _without_environments(readable)
        readable = _BARE_INPUT.sub(r"\1{\2}", _without_unread(readable, _UNREAD | environments))
        readable, self.macros = blank_definitions(readable)
        self.readable, self.lone_dollars = without_lone_dollars(readable)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, start: int, end: int) -> Place:
        """The place of some characters."""
        return Place(self.name, bisect_right(self._line_starts, start), start, end)


class LatexProject:
    """The files that a draft may read: those within its folder; without a folder none.

    Example:
        >>> from cocite.drafts.source_files import MemoryFiles
        >>> files = MemoryFiles({"paper.tex": b"\\\\input{intro}", "intro.tex": b"We parse."})
        >>> project = LatexProject(files, Budget("paper.tex"))
        >>> project.find("intro").text
        'We parse.'
        >>> project.find("../secret") is None, project.warnings
        (True, ["\\\\input{../secret}: lies outside the draft's folder; it is left out"])
    """

    def __init__(self, files: DraftFiles | None, budget: Budget) -> None:
        self.files = files
        self.budget = budget
        self.warnings: list[str] = []
        self.sources: dict[str, LatexSource] = {}

    def add(self, source: LatexSource) -> LatexSource:
        """Keep a source under its name."""
        self.budget.read(len(source.text))
        # The parser takes a time that grows with the square of a paragraph's length.
        longest = max(map(len, _EMPTY_LINE.split(source.readable)))
        if longest > 2 * MAX_PARAGRAPH:
            raise InputError(
                f"a paragraph has more than {2 * MAX_PARAGRAPH:,} characters",
                where=source.name or None,
                hint="divide it by empty lines",
            )
        self.sources[source.name] = source
        for position in source.lone_dollars[: max(0, 20 - len(self.warnings))]:
            self.warnings.append(f"{source.place(position, position)}: a dollar stays open in its paragraph")
        return source

    def find(self, name: str, beside: str = "") -> LatexSource | None:
        """The file that an ``\\input`` names; None, and a warning, where there is none that may be read.

        Args:
            name: from the draft's folder, or else from that of the file that inputs it.
            beside: that file.

        Raises:
            InputError: the draft inputs too many files.
        """
        name = name.strip().strip('"')
        if self.files is None:
            self._leave_out(name, "a pasted text has no other files")
            return None
        if not name or len(name) > 300 or "\0" in name:
            self._leave_out(name[:50], "is no name of a file")
            return None
        try:
            names = dict.fromkeys([name, posixpath.join(posixpath.dirname(beside), name)])
            tried = (self.files.find(f"{one}{end}") for one in names for end in (".tex", ""))
            known = next((file for file in tried if file is not None), None)
        except OutsideError as error:
            self._leave_out(name, str(error))
            return None
        if known is not None:
            if known in self.sources:
                return self.sources[known]
            if len(self.sources) >= MAX_FILES:
                raise InputError(
                    f"the draft inputs more than {MAX_FILES} files", where=self.budget.where, hint="divide it"
                )
            return self.add(LatexSource(known, read_utf8(self.files, known, self.budget)))
        self._leave_out(name, "no such file")
        return None

    def _leave_out(self, name: str, why: str) -> None:
        warning = f"\\input{{{name}}}: {why}; it is left out"
        if warning not in self.warnings and len(self.warnings) < 20:
            self.warnings.append(warning)


def as_written(original: bytes, text: str) -> bytes:
    """A changed text as bytes, with the encoding and the ends of lines of the file that it was read from.

    Example:
        >>> as_written("né\\r\\n".encode("cp1252"), "né [CIT]\\n")
        b'n\\xe9 [CIT]\\r\\n'
    """
    encoding = encoding_of(original)
    return _with_ends(text, original.decode(encoding, EVERY_BYTE)).encode(encoding, EVERY_BYTE)


def _with_ends(text: str, before: str) -> str:
    """A changed text with the ends of lines that it had before; a line that is new ends as most of them do."""
    ends = _LINE_END.findall(before)
    if not ends:
        return text
    old, new = _LINE_END.split(before), text.split("\n")
    kept = [Counter(ends).most_common(1)[0][0]] * (len(new) - 1)
    if len(set(ends)) > 1:  # each program that wrote a part of it may have its own
        for _, first, last, at, to in SequenceMatcher(None, old, new).get_opcodes():
            count = max(0, min(last - first, to - at, len(ends) - first, len(kept) - at))
            kept[at : at + count] = ends[first : first + count]
    return "".join(line + end for line, end in zip(new, [*kept, ""], strict=True))


def ends_in_comment(line: str) -> bool:
    """Whether a comment begins on a line, or the part of one; a sign of percent in code or an address begins none.

    Example:
        >>> ends_in_comment(r"100\\% % see"), ends_in_comment(r"\\url{a.org/b%20c} as")
        (True, False)
    """
    return any(match[4] for match in _COMMENT.finditer(line))


def _without_comment(found: re.Match[str]) -> str:
    """What the parser is to see of a match: spaces in place of a comment, and of each sign of percent that is none."""
    if found[4]:
        return found[4] + " " * len(found[5])
    # The parser knows that \verb has no comments.
    return _PERCENT.sub(" ", found[0]) if found[1] or found[3] else found[0]


def _without_chunks(text: str) -> str:
    """The text with spaces in place of the R code of Sweave and knitr."""
    parts, at = [], 0
    while (match := _CHUNK.search(text, at)) and (end := _CHUNK_END.search(text, match.end())):
        parts += [text[at : match.start()], _NOT_SPACE.sub(" ", text[match.start() : end.end()])]
        at = end.end()
    return _SEXPR.sub(lambda code: " " * len(code[0]), "".join([*parts, text[at:]]))


def without_lone_dollars(text: str) -> tuple[str, list[int]]:
    """A text with a space in place of the last dollar of each paragraph that has an odd number, and their positions.

    The parser would take everything up to the next dollar for a formula, in however many paragraphs.

    Example:
        >>> without_lone_dollars("It costs 5 $.\\n\\nWith $x$.")
        ('It costs 5  .\\n\\nWith $x$.', [11])
    """
    ends = iter([*(match.start() for match in _EMPTY_LINE.finditer(text)), len(text)])
    end = next(ends)
    lone: list[int] = []
    open_: int | None = None
    for match in _DOLLAR.finditer(text):
        while match.start() > end:
            lone += [] if open_ is None else [open_]
            open_, end = None, next(ends)
        if match[2]:
            open_ = match.start() if open_ is None else None
    lone += [] if open_ is None else [open_]
    if not lone:
        return text, lone
    signs = list(text)
    for position in lone:
        signs[position] = " "
    return "".join(signs), lone


def _without_environments(text: str) -> tuple[str, frozenset[str]]:
    """The text with spaces in place of the definitions of environments, and the names of those that hold code."""
    names = set(_VERBATIM.findall(text))
    parts, at = [], 0
    while match := _ENVIRONMENT.search(text, at):
        # The two halves hold what the parser would look for the ends of.
        middle = group_end(text, match.end())
        second = None if middle is None else _GROUP.match(text, middle)
        end = None if second is None else group_end(text, second.end() - 1)
        if middle is None or end is None:
            break
        if match[0].startswith(r"\lst") or _HOLDS_ANYTHING.search(text, match.end(), middle):
            names.add(match[1])
        parts += [text[at : match.start()], _NOT_SPACE.sub(" ", text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]]), frozenset(names)


def _without_unread(text: str, names: frozenset[str]) -> str:
    """The text with spaces in place of what is no prose: environments of some names, and what ``\\iffalse`` hides."""
    spans: list[tuple[int, int]] = []
    begin, branches = 0, skipped_branches(text)
    while match := _BEGIN.search(text, begin):
        begin = match.end()
        if match[2]:
            spans += (skipped := branches.get(match.start(), []))
            begin = skipped[0][1] if skipped else begin
        elif match[1] in names:
            close = f"\\end{{{match[1]}}}"
            end = text.find(close, begin)
            if end < 0:
                break
            begin = end + len(close)
            spans.append((match.start(), begin))
    parts, at = [], 0
    for start, end in sorted(spans):
        # The end of a conditional may stand in an environment that is left out.
        start, end = max(start, at), max(end, at)
        parts += [text[at:start], _NOT_SPACE.sub(" ", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def blank_definitions(text: str) -> tuple[str, dict[str, Macro]]:
    """A text with spaces in place of the definitions of macros, and those macros by name."""
    macros: dict[str, Macro] = {}
    parts, at = [], 0
    while match := _DEFINITION.search(text, at):
        end = group_end(text, match.end())
        if end is None:
            break
        name = match[1] or match[2] or match[5]
        arguments = int(match[3] or 0) if match[5] is None else len(match[6]) // 2
        default = match[4][1:-1] if match[4] else None
        macros[name] = Macro(arguments, default, text[match.end() + 1 : end - 1])
        parts += [text[at : match.start()], _NOT_SPACE.sub(" ", text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]]), macros


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_GROUP = re.compile(r"\s*\{")


def open_brace(text: str) -> int | None:
    """Where the first brace stands that is never closed; None: there is none.

    Example:
        >>> open_brace("a {b} \\{ {c {d}"), open_brace("{a}")
        (9, None)
    """
    open_: list[int] = []
    for match in _BRACE.finditer(_VERB.sub(lambda verb: " " * len(verb[0]), text)):
        if match[0] == "{":
            open_.append(match.start())
        elif match[0] == "}" and open_:
            open_.pop()
    return open_[0] if open_ else None


def group_end(text: str, start: int) -> int | None:
    """Where the group ends that begins at ``start``; None: nowhere."""
    depth = 0
    for match in _BRACE.finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return None

"""Reads Markdown with Pandoc's citations, ``[@key]``, and with LaTeX's; ``[@?]`` is a gap, as is ``\\cite{?}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from markdown_it import MarkdownIt

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.author_names import listed_authors
from cocite.drafts.blocks import BlockBuilder, Mark, assemble
from cocite.drafts.draft import Draft, Place
from cocite.drafts.gaps import CITING_PATTERN, GAP, is_missing, kept_keys, text_gaps
from cocite.drafts.limits import MAX_LINES, MAX_PARAGRAPH, Budget
from cocite.errors import InputError

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,50000}?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_CODE = r"(?P<code>(?P<ticks>`++)[^`].{0,1000}?(?<!`)(?P=ticks)(?!`))"
_ROLE = r"(?P<role>\{cite[a-z:]{0,20}\}`(?P<roles>[^`]{1,1000})`)"
"""The role of MyST, with keys that commas divide."""
_GROUP = r"(?P<group>(?<!\\)\[[^\[\]]{0,500}?(?<![\w\\])@[^\[\]]{0,500}\])"
_BARE = r"(?P<bare>(?<![\w\\])-?@(?:\?+|\{[^{}\s]{1,200}\}|\w[\w:.#$%&+<>~/-]{0,200}))"
_MARKS = re.compile(rf"{_ROLE}|{_CODE}|(?P<command>(?ai:{CITING_PATTERN}))|{_GROUP}|{_BARE}", re.DOTALL)
_KEY = re.compile(r"(?<![\w\\])@(\?+|\{[^{}]{0,200}\}|\w[\w:.#$%&+<>~/-]{0,200}|(?=[\];\s]))")
_OWN_PARTS = re.compile(r"(?:fig|tbl|eq|sec|lst|thm|lem|cor|prp|cnj|def|exm|exr|sol|rem|alg)[:-]\S+")
"""Keys by which Quarto (fig-loss) and pandoc-crossref (fig:loss) refer to parts of the draft itself."""
_DIV = re.compile(r"^[ \t]*:{3,}[^\n]*$", re.MULTILINE)
"""Begin or end of a block of Pandoc's, which prints nothing."""
_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,100}\]:\s*")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
_FAR = 40
"""Characters of signs that print nothing before a text of the source."""
_LINK_END = re.compile(r"\](?:\((?:[^()\\]|\\.|\([^()]{0,500}\)){0,2000}\)|\[[^\]]{0,500}\])?", re.DOTALL)
"""Behind the text of a link or the words for a picture."""
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\s]{1,100}\]")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def read_markdown(text: str, name: str, *, budget: Budget) -> Draft:
    """Read a draft in Markdown.

    Title, authors, abstract, date and bibliography are those of the YAML front matter; without it the first heading of
    the first level is the title, and what follows a heading *Abstract* the abstract. Code is left out.

    Raises:
        InputError: the draft has no text, or takes more than the limits allow.
    """
    if text.count("\n") > MAX_LINES:
        raise InputError(f"the draft has more than {MAX_LINES:,} lines", where=name or None, hint="divide it")
    warnings: list[str] = []
    front = _FRONT_MATTER.match(text)
    values = _front_matter(front[1], warnings) if front else {}
    start = front.end() if front else 0
    reader = _Reader(text, name, start, budget)
    title = _words(values.get("title"))
    title = reader.read(take_title=not title) or title
    year = _YEAR.search(str(values.get("date") or ""))
    named = values.get("bibliography")
    return assemble(
        reader.builder.blocks,
        kind="markdown",
        file=name,
        title=title,
        budget=budget,
        abstract=_words(values.get("abstract")),
        authors=listed_authors(values.get("author")),
        year=int(year[0]) if year else None,
        bibliographies=tuple(str(one) for one in (named if isinstance(named, list) else [named]) if one),
        sources={name: text},
        warnings=tuple(warnings),
    )


class _Reader:
    """Reads the blocks of one text."""

    def __init__(self, text: str, name: str, start: int, budget: Budget) -> None:
        self.text, self.name, self.start, self.budget = text, name, start, budget
        self.builder = BlockBuilder(name)
        self.lines = [start, *(match.end() for match in re.finditer("\n", text[start:]))]
        self.lines[1:] = [start + end for end in self.lines[1:]]
        self.first_line = text.count("\n", 0, start)
        self.cursor = self.printed = start

    def read(self, *, take_title: bool) -> str:
        """Read all blocks; returns the title that was taken from a heading."""
        title, kind, level, below_abstract = "", "paragraph", 0, False
        # Spaces keep all positions.
        text = _DIV.sub(lambda line: " " * len(line[0]), self.text[self.start :])
        for token in _parser().parse(text):
            self.budget.step()
            if token.type == "heading_open":
                kind, level = "heading", int(token.tag[1:])
            elif token.type == "inline" and token.content:
                self.builder.line = self.first_line + 1 + token.map[0]
                if len(token.content) > MAX_PARAGRAPH:
                    self.builder.text(token.content)  # raises
                note = _FOOTNOTE.match(token.content)
                self._inline(token.content[note.end() :] if note else token.content, token.map)
                if kind == "heading" and is_abstract_heading(token.content):
                    self.builder = _without_open(self.builder)
                    below_abstract = True
                elif kind == "heading" and level == 1 and take_title and not title:
                    self.builder.end("heading", 1)
                    if self.builder.blocks:
                        title = self.builder.blocks.pop().text
                elif kind == "heading":
                    self.builder.end("heading", level)
                    below_abstract = False
                elif note:
                    self.builder.end("footnote")
                else:
                    self.builder.end("abstract" if below_abstract else "paragraph")
                kind = "paragraph"
        return title

    def _inline(self, content: str, lines: tuple[int, int]) -> None:
        """Add a paragraph's text with its marks."""
        content = content.replace("\ue000", " ").replace("\ue001", " ")
        begin = self.lines[min(lines[0], len(self.lines) - 1)]
        end = self.lines[lines[1]] if lines[1] < len(self.lines) else len(self.text)
        self.cursor = max(self.cursor, begin)
        marks: list[Mark] = []
        parts, at = [], 0
        for begin_mark, end_mark, found in _found(content):
            piece = content[begin_mark:end_mark]
            if not found:  # code, behind which the next mark is looked for
                _, self.cursor = self._located(piece, end) or (0, self.cursor)
                continue
            parts.append(content[at:begin_mark])
            place = self._place(piece, end)
            for offset, length, keys, is_gap in found:
                whole = length == end_mark - begin_mark
                start = place.start + offset
                inner = place if whole else Place(place.file, place.line, start, start + length)
                in_group = content[begin_mark + offset] == "@"
                marks.append(
                    Mark(inner, keys, is_gap, "keys" if is_gap and in_group and not whole else "whole")
                )
                separator = " " if parts[-1].endswith("\ue001") else ""
                parts.append(f"{separator}\ue000{len(marks) - 1}\ue001")
            at = end_mark
        parts.append(content[at:])
        read = max(self.printed, begin)
        for piece, hidden in _printed_pieces("".join(parts)):
            at = 0
            for match in _PLACEHOLDER.finditer(piece):
                read = self._print(piece[at : match.start()], read, end)
                mark = marks[int(match[1])]
                self.builder.mark(mark)
                at, read = match.end(), max(read, mark.place.end)
            read = self._print(piece[at:], read, end)
            if hidden is not None and (passed := hidden.search(self.text, read, end)):
                read = passed.end()
        self.printed = read

    def _print(self, text: str, start: int, end: int) -> int:
        """Add what a paragraph prints, as the source has it between two places; returns where that ends."""
        pieces = [text]
        if self.text.find(text, start, end) < 0:
            # It has entities or escaped signs: each word is looked for.
            pieces, end = _WORDS.findall(text), min(end, start + 2 * len(text) + _FAR)
        for piece in pieces:
            found = -1 if piece.isspace() else self.text.find(piece, start, end)
            if found < 0:
                self.builder.source = None
                self.builder.text(piece)
            else:
                start = found + len(piece)
                self.builder.copy(piece, Place(self.name, 0, found, start))
        return start

    def _place(self, piece: str, end: int) -> Place:
        """Where the source has a piece of a paragraph: behind the one before it."""
        located = self._located(piece, end)
        if located is not None:
            start, self.cursor = located
        else:
            start = max(self.cursor, self.text.find(piece.split()[0], self.cursor, end))
            self.cursor = self.text.find(piece[-1], start, end) + 1 or end
        line = 1 + self.text.count("\n", 0, start)
        return Place(self.name, line, start, self.cursor)

    def _located(self, piece: str, end: int) -> tuple[int, int] | None:
        """Where a piece begins and ends as it is; None: the source has it in another form."""
        if "\n" not in piece:
            start = self.text.find(piece, self.cursor, end)
            return (start, start + len(piece)) if start >= 0 else None
        # Lines of a quotation or a list begin with marks or spaces, which the piece lacks.
        lines = re.compile(r"\n[ \t>]*".join(map(re.escape, piece.split("\n"))))
        found = lines.search(self.text, self.cursor, end)
        return None if found is None else found.span()


def _found(content: str) -> list[tuple[int, int, list[tuple[int, int, tuple[str, ...], bool]]]]:
    """A paragraph's citations, gaps and code: start, end, and what is in each as (offset, length, keys, is a gap)."""
    found = []
    taken = []
    for match in _MARKS.finditer(content):
        if match["command"]:
            if not GAP.fullmatch(match[0]):
                taken.append(match.span())
                found.append((*match.span(), [(0, len(match[0]), kept_keys(match[0]), False)]))
            continue
        taken.append(match.span())
        if match["code"]:
            found.append((*match.span(), []))
            continue
        if match["role"]:
            named = (one.strip() for one in match["roles"].split(","))
            cited = tuple(key for key in named if key and not is_missing(key))
            found.append((*match.span(), [(0, len(match[0]), cited, False)]))
            continue
        keys: list[str] = []
        gaps: list[tuple[int, int, tuple[str, ...], bool]] = []
        for key in _KEY.finditer(match[0]):
            bare = key[1].strip("{}").rstrip(".,:;-/")
            if _OWN_PARTS.fullmatch(bare):
                continue
            if is_missing(bare):
                gaps.append((key.start(), key.end() - key.start(), (), True))
            else:
                keys.append(bare)
        known = [(0, len(match[0]), tuple(keys), False)] if keys else []
        if known or gaps:
            found.append((*match.span(), known + gaps))
    covered = iter([*taken, (len(content), len(content))])
    span = next(covered)
    for match in text_gaps(content):
        while span[1] <= match.start() and span[0] < len(content):
            span = next(covered)
        if match.end() <= span[0]:
            found.append((*match.span(), [(0, len(match[0]), kept_keys(match[0]), True)]))
    return sorted(found, key=lambda item: item[0])


def _without_open(builder: BlockBuilder) -> BlockBuilder:
    return BlockBuilder(builder.where, builder.blocks, line=builder.line)


@cache
def _parser() -> Any:
    """Finds blocks alone; their text is parsed one by one."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> Any:
    return MarkdownIt("commonmark")


def _printed(content: str) -> str:
    """The text that a paragraph prints."""
    return "".join(text for text, _ in _printed_pieces(content))


def _printed_pieces(content: str) -> Iterator[tuple[str, re.Pattern[str] | None]]:
    """The same, piece by piece, each with what follows in the source and prints nothing, as the address of a link.

    No piece has the end of a line, or signs of Markdown, within it.
    """
    [token] = _inline_parser().parseInline(content)
    for child in token.children or ():
        if child.type in ("text", "code_inline", "image"):
            for piece in _FOOTNOTE_MARK.split(child.content):
                yield piece, _LINK_END if child.type == "image" else None
        elif child.type in ("softbreak", "hardbreak"):
            yield " ", None
        elif child.type == "link_close" and child.info != "auto":
            yield "", _LINK_END
        elif child.type == "html_inline":
            yield "", re.compile(re.escape(child.content))


class _FrontMatter(yaml.SafeLoader):
    """The safe loader, to which R code of R Markdown, as in ``eval: !r TRUE``, is nothing."""


_FrontMatter.add_multi_constructor("!", lambda _loader, _tag, _node: None)


def _front_matter(text: str, warnings: list[str]) -> dict[str, Any]:
    try:
        values = yaml.load(text, Loader=_FrontMatter)  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError):
        warnings.append("the front matter is no YAML; it is left out")
        return {}
    return values if isinstance(values, dict) else {}


def _words(value: Any) -> str:
    if isinstance(value, str) and len(value) > MAX_PARAGRAPH:
        raise InputError("the front matter's text is too long", hint="shorten it")
    return " ".join(_printed(value).split()) if isinstance(value, str) else ""

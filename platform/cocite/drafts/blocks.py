"""Blocks of text with marks, which every reader makes, and the draft that they are put together to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cocite.corpus.articles.headings import begins_behind_references, is_references_heading
from cocite.corpus.records import OTHER_MARK, TARGET_MARK
from cocite.drafts.draft import Citation, Draft, Gap, GapForm, Kind, Place, Section, Sentence
from cocite.drafts.limits import MAX_GAPS, MAX_PARAGRAPH, Budget
from cocite.drafts.origins import Origin, Origins, line_starts
from cocite.errors import InputError
from cocite.text.gap_context import context_of_gap
from cocite.text.sentences import split_sentences

MARK = "\ue000"
"""Stands for a citation or a gap in a block's text: a character of the private use area, removed from drafts."""
_AROUND = 1_000
"""Characters each side of a gap that its context is cut from."""
_MARK_WORDS = re.compile(rf"{TARGET_MARK}|{OTHER_MARK}")
WITHOUT_KEYS = frozenset({"text", "docx", "pdf"})
"""Kinds of drafts whose references are printed, and have no keys."""
BlockKind = Literal["paragraph", "heading", "abstract", "footnote"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation with its keys, or a gap: a place where a key is missing.

    Example:
        >>> Mark(Place("", 1, 0, 5), keys=("lee99",)).is_gap
        False
    """

    place: Place
    keys: tuple[str, ...] = ()
    is_gap: bool = False
    form: GapForm = "whole"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, abstract or footnote; each :data:`MARK` of its text stands for one of its marks.

    Attributes:
        origins: what of the source its text was read from, in the order of the text.

    Example:
        >>> Block("heading", "Data", level=1).text
        'Data'
    """

    kind: BlockKind
    text: str
    marks: tuple[Mark, ...] = ()
    level: int = 0
    line: int = 1
    origins: tuple[Origin, ...] = ()


@dataclass(slots=True)
class BlockBuilder:
    """Collects text and marks; a block ends at :meth:`end`, and its footnotes follow it.

    Attributes:
        source: what the next :meth:`text` is read from; None: it has no source.

    Example:
        >>> builder = BlockBuilder("paper.tex")
        >>> builder.text("We parse ")
        >>> builder.mark(Mark(Place("paper.tex", 3, 9, 15), ("lee99",)))
        >>> builder.end()
        >>> builder.blocks[0].text == "We parse " + MARK
        True
    """

    where: str
    blocks: list[Block] = field(default_factory=list)
    footnotes: list[Block] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _marks: list[Mark] = field(default_factory=list)
    _size: int = 0
    line: int = 1
    source: Place | None = None
    _origins: list[Origin] = field(default_factory=list)

    def text(self, text: str) -> None:
        """Add text that the source has in another form, as an accent or a formula."""
        self._add(text.replace(MARK, ""), self.source)

    def copy(self, text: str, place: Place) -> None:
        """Add text as the source has it."""
        self._add(text.replace(MARK, ""), place, is_copy=MARK not in text)

    def mark(self, mark: Mark) -> None:
        """Add a citation or a gap."""
        self._add(MARK, mark.place)
        self._marks.append(mark)

    def _add(self, text: str, source: Place | None, *, is_copy: bool = False) -> None:
        self._size += len(text)
        if self._size > MAX_PARAGRAPH:
            raise InputError(
                f"a paragraph has more than {MAX_PARAGRAPH:,} characters",
                where=f"{self.where}, line {self.line}" if self.where else f"line {self.line}",
                hint="divide it by empty lines",
            )
        if source is not None and text:
            self._origins.append(Origin(self._size - len(text), len(text), source, is_copy))
        self._parts.append(text)

    def end(self, kind: BlockKind = "paragraph", level: int = 0) -> None:
        """End the block; one without text is none."""
        # The corpus' words for citations would be taken for marks.
        text = _MARK_WORDS.sub(lambda word: " " * len(word[0]), "".join(self._parts))
        if text.strip():
            self.blocks.append(Block(kind, text, tuple(self._marks), level, self.line, tuple(self._origins)))
        self.blocks += self.footnotes
        self.footnotes, self._parts, self._marks, self._origins, self._size = [], [], [], [], 0


def assemble(
    blocks: Sequence[Block], *, kind: Kind, file: str, title: str, budget: Budget, **others: Any
) -> Draft:
    """Put blocks together to a draft.

    Raises:
        InputError: there is no text at all, or there are too many gaps.
    """
    references = ""
    if kind in WITHOUT_KEYS:
        blocks, references = _without_references(blocks)
    if not blocks and not title:
        raise InputError("the draft has no text", where=file or None, hint="name a file with text")
    count = sum(mark.is_gap for block in blocks for mark in block.marks)
    if count > MAX_GAPS:
        raise InputError(
            f"the draft has {count:,} gaps, more than {MAX_GAPS}", where=file or None, hint="divide it"
        )
    sections: list[Section] = []
    sentences: list[Sentence] = []
    gaps: list[Gap] = []
    citations: list[Citation] = []
    lines = {name: line_starts(text) for name, text in others.get("sources", {}).items()}
    for group in _groups(blocks):
        for block in group:
            citations += [Citation(key, mark.place) for mark in block.marks for key in mark.keys]
        if group[0].kind == "heading":
            heading = " ".join(group[0].text.replace(MARK, " ").split())
            sections.append(Section(heading, group[0].level))
        within = len(sections) - 1
        texts = []
        for block in group:
            budget.check_time()
            own = _sentences(block, lines)
            texts += [text for text, marks, _ in own for mark in marks if mark.is_gap]
            if block.kind != "heading":
                is_abstract = block.kind == "abstract"
                sentences += [
                    Sentence(text, within, block.line, is_abstract, place) for text, _, place in own
                ]
        gaps += _gaps(group, texts, within)
    abstract = others.pop("abstract", "") or " ".join(
        bare(block.text) for block in blocks if block.kind == "abstract"
    )
    return Draft(
        kind=kind,
        file=file,
        title=bare(title),
        abstract=abstract,
        sections=tuple(sections),
        sentences=tuple(sentences),
        gaps=tuple(gaps),
        citations=tuple(citations),
        references=references,
        **others,
    )


def references_range(lines: Sequence[tuple[str, bool]]) -> range:
    """Which lines are the list of references: those behind its heading; empty where there is none.

    Args:
        lines: each with whether it is a heading.

    Example:
        >>> lines = [("Parsing", True), ("References", True), ("Lee. Trees.", False), ("Appendix", True)]
        >>> references_range(lines)
        range(2, 3)
    """
    heads = [at for at, (text, _) in enumerate(lines) if is_references_heading(text)]
    if not heads:
        return range(0)
    first = heads[-1] + 1
    behind = (
        at for at in range(first, len(lines)) if lines[at][1] and begins_behind_references(lines[at][0])
    )
    return range(first, next(behind, len(lines)))


def _without_references(blocks: Sequence[Block]) -> tuple[Sequence[Block], str]:
    """The blocks without those of the list of references, and the text of these; a block with a gap is none of them."""
    within = references_range([(block.text, block.kind == "heading") for block in blocks])
    if not within.start:
        return blocks, ""
    own = blocks[within.start : within.stop]
    kept = [block for block in own if block.marks]
    listed = [block.text.strip() for block in own if not block.marks]
    return [*blocks[: within.start - 1], *kept, *blocks[within.stop :]], "\n".join(listed)


def bare(text: str) -> str:
    """A text without its marks, and with single spaces.

    Example:
        >>> bare(f"We  parse {MARK}.")
        'We parse .'
    """
    return " ".join(text.replace(MARK, " ").split())


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """The blocks that are contexts of each other: the paragraphs below one heading; a footnote stands alone."""
    group: list[Block] = []
    notes: list[Block] = []
    for block in blocks:
        if block.kind == "footnote":
            notes.append(block)
            continue
        if block.kind == "heading" or (group and group[-1].kind != block.kind != "paragraph"):
            if group:
                yield group
            yield from ([note] for note in notes)
            group, notes = [], []
        if group and group[-1].kind in ("heading", "abstract"):
            yield group
            group = []
        group.append(block)
    if group:
        yield group
    yield from ([note] for note in notes)


def _sentences(
    block: Block, lines: Mapping[str, Sequence[int]]
) -> list[tuple[str, list[Mark], Place | None]]:
    """The sentences of a block, each with its marks and its place."""
    origins = Origins(block.text, block.origins, lines)
    marks = iter(block.marks)
    found = []
    # A word in place of each mark: splitting takes a lone symbol for the end of a sentence.
    [texts] = split_sentences([block.text.replace(MARK, TARGET_MARK)])
    for text in texts:
        own = [next(marks) for _ in range(text.count(TARGET_MARK))]
        words = ["[CIT]" if mark.is_gap else "[OTHERCIT]" for mark in own]
        between = text.split(TARGET_MARK)
        signs = len(own) + sum(not sign.isspace() for part in between for sign in part)
        found.append(("".join(map(str.__add__, between, [*words, ""])), own, origins.next(signs)))
    return found


def _gaps(group: Sequence[Block], sentences: Sequence[str], section: int) -> list[Gap]:
    """The gaps of blocks that follow one another, with their contexts; ``sentences`` has that of each gap."""
    marks = [mark for block in group for mark in block.marks]
    pieces = "\n".join(block.text for block in group).split(MARK)
    parts = [pieces[0]]
    starts = []
    size = len(pieces[0])
    for mark, piece in zip(marks, pieces[1:], strict=True):
        if mark.is_gap:
            starts.append(size)
        word = MARK if mark.is_gap else OTHER_MARK
        parts += [word, piece]
        size += len(word) + len(piece)
    text = "".join(parts)
    return [
        Gap(
            place=mark.place,
            form=mark.form,
            kept=mark.keys,
            section=section,
            sentence=sentence,
            context=context_of_gap(
                text[max(0, at - _AROUND) : at], text[at + 1 : at + 1 + _AROUND], neighbour=MARK
            ),
        )
        for mark, at, sentence in zip((m for m in marks if m.is_gap), starts, sentences, strict=True)
    ]

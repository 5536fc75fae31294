"""Cuts a full text with marked citations into sentences, citation groups and contexts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cocite.corpus.records import OTHER_MARK, TARGET_MARK, ContextRecord, Record, SentenceRecord

WINDOW = 200
"""Characters of a context each side of its gap."""
_SPACE = re.compile(r"\s+")
_JOINT = re.compile(r"[\s,;&()\[\]–-]*+(?:and)?[\s,;&()\[\]–-]*+")
"""What may stand between two citations of one group."""
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|Fig|Figs|Eq|Eqs|Sec|Tab|No|approx|resp|Dr|Prof)|\b[A-Z])\.$"
)


@dataclass(frozen=True)
class Mention:
    """A citation in a text: its span, and the id of the cited paper, empty when unknown.

    Example:
        >>> from cocite.corpus.importers.fulltext import Mention, body_records
        >>> text = "Transformers (Vaswani et al., 2017) replaced recurrence."
        >>> mention = Mention(start=13, end=35, cited="vaswani")
        >>> sentence, context = body_records("p", text, [(0, len(text), "Introduction")], [mention])
        >>> sentence.text
        'Transformers [[CIT:0]] replaced recurrence.'
        >>> context.text, context.cited
        ('Transformers TARGETCIT replaced recurrence.', ('vaswani',))
    """

    start: int
    end: int
    cited: str


class BodyText:
    """A body that is put together from pieces of text and citations; white space becomes one space.

    Attributes:
        size: characters so far.

    Example:
        >>> from cocite.corpus.importers.fulltext import BodyText
        >>> body = BodyText()
        >>> body.add("As shown by ")
        >>> body.cite("Lee (1999)", "lee99")
        >>> body.add(", it\\n holds.")
        >>> body.end_paragraph("Results")
        >>> sentence, context = body.records("p")
        >>> sentence.text, context.text, context.section
        ('As shown by [[CIT:0]], it holds.', 'As shown by TARGETCIT , it holds.', 'Results')
    """

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[str] = []
        self._paragraphs: list[tuple[int, int, str]] = []
        self._mentions: list[Mention] = []
        self._begin = 0

    def add(self, piece: str) -> None:
        """Go on with a text."""
        piece = _SPACE.sub(" ", piece)
        if self._pieces and self._pieces[-1].endswith(" "):
            piece = piece.lstrip(" ")  # something was left out between the two
        if piece:
            self._pieces.append(piece)
            self.size += len(piece)

    def cite(self, mark: str, cited: str) -> None:
        """Go on with a citation.

        Args:
            mark: the text that stands for it.
            cited: id of the cited paper, empty when unknown.
        """
        begin = self.size
        self.add(mark)
        self._mentions.append(Mention(begin, self.size, cited))

    def end_paragraph(self, section: str) -> None:
        """End a paragraph of the section with a heading."""
        self._paragraphs.append((self._begin, self.size, section))
        self._begin = self.size

    def records(self, paper: str) -> Iterator[Record]:
        """The sentences and contexts of the ended paragraphs, of the paper with an id."""
        return body_records(paper, "".join(self._pieces), self._paragraphs, self._mentions)


def body_records(
    paper: str, text: str, paragraphs: Sequence[tuple[int, int, str]], mentions: Sequence[Mention]
) -> Iterator[Record]:
    """The sentences and contexts of a body.

    Args:
        paper: id of the citing paper.
        text: the whole text.
        paragraphs: (start, end, section) of each paragraph, in order.
        mentions: the citations, in any order; of overlapping ones the first counts.
    """
    position = number = 0
    ordered = sorted(mentions, key=lambda mention: (mention.start, mention.end))
    starts = [mention.start for mention in ordered]
    for start, end, section in paragraphs:
        near = ordered[bisect_left(starts, start) : bisect_left(starts, end)]
        inside = [m for m in near if m.start < m.end <= end]
        groups = _groups(text, inside)
        marked, at = [], start
        for offset, group in enumerate(groups):
            marked.append(text[at : group[0].start] + f"[[CIT:{number + offset}]]")
            at = group[-1].end
        marked.append(text[at:end])
        sentence_of: dict[int, int] = {}
        for sentence in split_sentences("".join(marked)):
            for group_number in re.findall(r"\[\[CIT:(\d+)\]\]", sentence):
                sentence_of[int(group_number)] = position
            yield SentenceRecord(paper, position, sentence, section)
            position += 1
        for i, group in enumerate(groups):
            cited = tuple(dict.fromkeys(m.cited for m in group if m.cited))
            if cited:
                yield ContextRecord(
                    id=f"{paper}/{number + i}",
                    citing=paper,
                    cited=cited,
                    text=_context(text, start, end, groups, i),
                    sentence=sentence_of.get(number + i, -1),
                    section=section,
                    group=number + i,
                    unresolved=sum(not m.cited for m in group),
                )
        number += len(groups)


def split_sentences(text: str) -> list[str]:
    """Sentences of a paragraph, by their end marks; common abbreviations do not end one."""
    result, begin = [], 0
    for match in _END.finditer(text):
        if not _ABBREVIATION.search(text, max(begin, match.start() - 8), match.start()):
            result.append(text[begin : match.start()].strip())
            begin = match.end()
    result.append(text[begin:].strip())
    return [sentence for sentence in result if sentence]


def _groups(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    groups: list[list[Mention]] = []
    for mention in mentions:
        if groups and mention.start < groups[-1][-1].end:
            continue
        if groups and _JOINT.fullmatch(text, groups[-1][-1].end, mention.start):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _context(text: str, start: int, end: int, groups: Sequence[Sequence[Mention]], target: int) -> str:
    """The text around one group, with the other groups masked."""
    left = "".join(reversed(list(_before(text, start, groups, target))))
    right = "".join(_after(text, end, groups, target))
    return f"{left[-WINDOW:].lstrip()} {TARGET_MARK} {right[:WINDOW].rstrip()}".replace("  ", " ").strip()


def _before(text: str, start: int, groups: Sequence[Sequence[Mention]], target: int) -> Iterator[str]:
    """Pieces before a group, the nearest first, as many as a context needs."""
    missing, end = WINDOW, groups[target][0].start
    for number in range(target - 1, -2, -1):
        begin = groups[number][-1].end if number >= 0 else start
        piece = text[max(begin, end - missing) : end]
        yield piece
        missing -= len(piece)
        if number < 0 or missing <= 0:
            return
        yield OTHER_MARK
        missing -= len(OTHER_MARK)
        if missing <= 0:
            return
        end = groups[number][0].start


def _after(text: str, end: int, groups: Sequence[Sequence[Mention]], target: int) -> Iterator[str]:
    """Pieces after a group, as many as a context needs."""
    missing, begin = WINDOW, groups[target][-1].end
    for number in range(target + 1, len(groups) + 1):
        until = groups[number][0].start if number < len(groups) else end
        piece = text[begin : min(until, begin + missing)]
        yield piece
        missing -= len(piece)
        if number == len(groups) or missing <= 0:
            return
        yield OTHER_MARK
        missing -= len(OTHER_MARK)
        if missing <= 0:
            return
        begin = groups[number][-1].end

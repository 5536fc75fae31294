"""Cuts a full text with marked citations into sentences, citation groups and contexts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cocite.corpus.records import OTHER_MARK, TARGET_MARK, ContextRecord, Record, SentenceRecord

WINDOW = 200
"""Characters of a context each side of its gap."""
_JOINT = re.compile(r"[\s,;&()\[\]–-]*(?:and)?[\s,;&()\[\]–-]*")
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
    for start, end, section in paragraphs:
        inside = [m for m in ordered if start <= m.start < m.end <= end]
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
    left = "".join(_masked(text, start, groups[:target], groups[target][0].start))
    right = "".join(_masked(text, groups[target][-1].end, groups[target + 1 :], end))
    return f"{left[-WINDOW:].lstrip()} {TARGET_MARK} {right[:WINDOW].rstrip()}".replace("  ", " ").strip()


def _masked(text: str, begin: int, groups: Sequence[Sequence[Mention]], end: int) -> Iterator[str]:
    for group in groups:
        yield text[begin : group[0].start] + OTHER_MARK
        begin = group[-1].end
    yield text[begin:end]

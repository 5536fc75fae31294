"""Finds the places of a text at which entries of the printed list of references are cited."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cocite.corpus.articles.printed_names import plain
from cocite.corpus.articles.references import Reference

UNKNOWN = -1
"""Stands for a reference that is cited and that the list does not have."""
MAX_CITED = 20_000
"""References that all marks of an article cite, each as often as it is cited; marks behind them are left out."""
_RANGE = 50
"""References of the longest range, such as ``[3-7]``."""
_BRACKETS = re.compile(r"\[([^\[\]]{1,300})\]")
_PAGES = re.compile(
    r",?\s*\b(?:pp?|Secs?|Section|Chap|Ch|Chapter|Figs?|Thm|Theorem|Eqs?|Table)\b.*", re.DOTALL
)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*[-–—]\s*(\d{1,4}))?")
_DASH = re.compile(r"\s*[-–—]\s*")
_NAME = (
    r"(?:(?:van|von|de|del|della|der|den|di|da|dos|du|la|le|ten|ter|el|al|bin|Van|Von|De|Du|La|Le|Di|Da)\s+){0,3}"
    r"[^\W\d_a-z][\w'’-]*"
)
_YEARS = r"(?:19|20)\d\d[a-z]?(?:\s*,\s*(?:(?:19|20)\d\d[a-z]?|[a-z])\b)*"
_AUTHOR_YEAR = re.compile(
    rf"\b(?P<first>{_NAME})(?P<others>\s+et\s+al\.?|(?:,\s+{_NAME}){{0,3}},?\s+(?:and|&)\s+{_NAME})?+"
    rf"(?:['’]s)?,?\s*(?P<open>[(\[])?\s*(?P<years>{_YEARS})(?:,\s*(?:pp?\.|Section|Chapter)[^()\[\]]{{0,20}})?"
    r"(?(open)\s*[)\]])"
)
_ET_AL = re.compile(r"\bet\s+al\b")
_SEVERAL = re.compile(r"\band\b|&|;|\bet al\b|,.*,")
_ROUND = re.compile(r"[(\[]([^()\[\]]{1,600})[)\]]")
_LETTER = re.compile(r"(?:19|20)\d\d[a-z]?|[a-z]")
_BETWEEN = re.compile(r"[\s;,]*(?:and|&)?[\s;,]*")
_NAME_WORDS = re.compile(r"[\w'’-]+")


class CitedAt(NamedTuple):
    """A mark in a text, and the references that it cites by their places in the list.

    Example:
        >>> CitedAt(3, 9, (0, 2)).references
        (0, 2)
    """

    start: int
    end: int
    references: tuple[int, ...]


def citation_marks(texts: Sequence[str], references: Sequence[Reference]) -> list[list[CitedAt]]:
    """The marks of each of some texts of one article, in order, none within another.

    Marks are labels in brackets (``[3]``, ``[3, 5-7]``, ``[VSP+17]``), or authors and years (``(Lee et al., 2004)``,
    ``Lee and Kim (2004a)``): whichever cite more references in all texts. Other brackets with numbers are none.

    Args:
        texts: such as the paragraphs of a body.
        references: the printed list.

    Example:
        >>> from cocite.corpus.articles.references import split_references
        >>> references = split_references(["[1] A. Lee. Trees. 1999.", "[2] B. Kim. Graphs. 2001."])
        >>> citation_marks(["As in [1, 2], or in [0, 1]."], references)
        [[CitedAt(start=6, end=12, references=(0, 1))]]
        >>> references = split_references(["Ann Lee. 1999. Trees.", "Bo Kim. 2001. Graphs."])
        >>> citation_marks(["Kim (2001) follows others (Lee, 1999)."], references)
        [[CitedAt(start=0, end=10, references=(1,)), CitedAt(start=26, end=37, references=(0,))]]
    """
    if not references:
        return [[] for _ in texts]
    labels = {reference.label: at for at, reference in enumerate(references) if reference.label}
    surnames: dict[str, list[int]] = {}
    for at, reference in enumerate(references):
        surnames.setdefault(reference.surname, []).append(at)
    labelled = [list(_labelled(text, labels)) if labels else [] for text in texts]
    named = [list(_named(text, references, surnames)) for text in texts]
    return _bounded(max(labelled, named, key=_count))


def _bounded(marks: Sequence[Sequence[CitedAt]]) -> list[list[CitedAt]]:
    room = MAX_CITED
    kept: list[list[CitedAt]] = []
    for own in marks:
        kept.append([])
        for mark in own:
            room -= len(mark.references)
            if room >= 0:
                kept[-1].append(mark)
    return kept


def _count(marks: Sequence[Sequence[CitedAt]]) -> tuple[int, int]:
    """How many references are cited, each once, and how many marks there are."""
    return len({at for own in marks for mark in own for at in mark.references} - {UNKNOWN}), sum(
        map(len, marks)
    )


def _labelled(text: str, labels: dict[str, int]) -> Iterator[CitedAt]:
    """Marks with labels; two with a dash between them, as ``[1]-[3]``, are a range."""
    before: tuple[CitedAt, str] | None = None
    for match in _BRACKETS.finditer(text):
        inside = _PAGES.sub("", match[1]).strip()
        cited = _of_labels(inside, labels)
        if cited is None:
            continue
        if before and _DASH.fullmatch(text, before[0].end, match.start()):
            cited = _of_labels(f"{before[1]}-{inside}", labels) or cited
        mark = CitedAt(*match.span(), cited)
        yield mark
        before = (mark, inside)


def _of_labels(inside: str, labels: dict[str, int]) -> tuple[int, ...] | None:
    """The references that a bracket cites; None where one of its parts is no label."""
    found: list[int] = []
    for part in re.split(r"[,;]", inside):
        label = " ".join(part.split())
        if label in labels:
            found.append(labels[label])
            continue
        match = _NUMBERS.fullmatch(label)
        if match is None or match[2] is None:
            return None
        first, last = int(match[1]), int(match[2])
        if not first < last <= first + _RANGE or not {str(first), str(last)} <= labels.keys():
            return None
        found += [labels[str(number)] for number in range(first, last + 1) if str(number) in labels]
    return tuple(dict.fromkeys(found))


def _named(text: str, references: Sequence[Reference], surnames: dict[str, list[int]]) -> Iterator[CitedAt]:
    """Marks with authors and years; brackets that hold nothing else are parts of them."""
    marks: list[CitedAt] = []
    for match in _AUTHOR_YEAR.finditer(text):
        names = [plain(name) for name in _last_words(match)]
        is_more = _ET_AL.search(match["others"] or "") is not None
        cited = _of_names(names, is_more, _years(match["years"]), references, surnames)
        if not is_more and not any(at != UNKNOWN for at in cited):
            continue  # "In May 2001" names nobody
        marks.append(CitedAt(*match.span(), cited))
    starts = [mark.start for mark in marks]
    for match in _ROUND.finditer(text):
        first, last = bisect_left(starts, match.start()), bisect_left(starts, match.end())
        inside = marks[first:last]
        if not inside or inside[-1].end > match.end(1):
            continue
        edges = [match.start(1), *(edge for mark in inside for edge in mark[:2]), match.end(1)]
        if all(_BETWEEN.fullmatch(text, *span) for span in zip(edges[::2], edges[1::2], strict=True)):
            marks[first] = marks[first]._replace(start=match.start())
            marks[last - 1] = marks[last - 1]._replace(end=match.end())
    yield from marks


def _last_words(match: re.Match[str]) -> Iterator[str]:
    """The last word of each surname that a mark names."""
    yield match["first"].split()[-1]
    others = match["others"] or ""
    if not _ET_AL.search(others):
        for name in re.split(r",|&|\band\b", others):
            if words := _NAME_WORDS.findall(name):
                yield words[-1]


def _years(text: str) -> list[str]:
    """The years of a mark: ``2004a, b`` are 2004a and 2004b."""
    found: list[str] = []
    for year in _LETTER.findall(text):
        found.append(found[-1][:4] + year if len(year) == 1 else year)
    return found


def _of_names(
    names: Sequence[str],
    is_more: bool,
    years: Sequence[str],
    references: Sequence[Reference],
    surnames: dict[str, list[int]],
) -> tuple[int, ...]:
    """The reference of each year; unknown where none fits, or several do.

    Args:
        names: of the first author, and of all others unless there are more.
        is_more: whether others are meant without their names.
        years: with letters.
        references: the list.
        surnames: of first authors -> their references.
    """
    first = names[0].removesuffix("'s").removesuffix("’s")
    mine = [
        at
        for at in surnames.get(first, [])
        if all(re.search(rf"\b{re.escape(name)}\b", references[at].authors) for name in names[1:])
        and (not is_more or _SEVERAL.search(references[at].authors))
    ]
    return tuple(_of_year(year, mine, references, not is_more and len(names) == 1) for year in years)


def _of_year(year: str, mine: Sequence[int], references: Sequence[Reference], is_alone: bool) -> int:
    for fits in (
        [at for at in mine if references[at].years[:1] == (year,)],
        [at for at in mine if year in references[at].years],
    ):
        if len(fits) == 1:
            return fits[0]
        # A name alone is that of the one who wrote alone.
        alone = [at for at in fits if is_alone and not _SEVERAL.search(references[at].authors)]
        if len(alone) == 1:
            return alone[0]
    return UNKNOWN

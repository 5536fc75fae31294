"""Divides a printed list of references into its entries.

Entries are numbered (``[3]``, ``3.``), labelled (``[VSP+17]``, ``[Lee et al., 2004]``), or begin with their authors:
then the year says where the next one begins, as it stands behind the authors or at the end of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cocite.corpus.articles.layout import joined
from cocite.corpus.articles.printed_names import YEAR, authors_of, first_surname, plain

MAX_REFERENCES = 1_000
"""Entries of one list; more are left out."""
MAX_CHARS = 2_000
"""Characters of one entry; what is behind them is left out."""
MAX_LIST_CHARS = 200_000
"""Characters of all entries; 1,000 have about as many, and those behind are left out."""
_MISSING = 3
"""Numbers of a list in brackets that may be missing between two entries."""
_PREFACE = 3
"""Lines before which the first number or label of a list stands; a number further below is a part of an entry."""
_LOOK = 4
"""Lines that the names and the year of an entry may take."""
_BRACKETED = re.compile(r"\[\s*(\d{1,4})\s*\]\s*")
_DOTTED = re.compile(r"(\d{1,4})\.\s+(?=\D)")
_LABEL = re.compile(r"\[([^\[\]]{1,80}?\d\d[a-z]?)\]\s*")
_PARTICLE = r"(?:van|von|de|del|della|der|den|di|da|dos|du|la|le|ten|ter|el|al|bin)"
_NAME_WORD = rf"(?:{_PARTICLE}\s+)*(?:[a-z]{{1,3}}(?=[A-Z]))?[^\W\d_a-z][\w.'’-]*"
_NAMES = re.compile(
    rf"{_NAME_WORD}(?:(?:\s*[,;&]\s*|\s+)(?:and\s+|&\s*)?"
    rf"(?:et\s+al\.?|[a-z]\.|{_NAME_WORD}|{_PARTICLE}\b))*+[.,:]?\s*"
)
"""Words that may be names, with what stands between them."""
_YEAR_BEHIND = re.compile(r"[(\[]?(?:19|20)\d\d[a-z]?\b")
_NO_NAMES = re.compile(
    r"(?:In|Proceedings|Proc|Association|Journal|Transactions|Technical|Conference|International|University|Press"
    r"|Springer|Elsevier|IEEE|ACM|ACL|CoRR|PMLR|Curran|PhD|Advances|URL|DOI)\b"
)
"""What a line within an entry may begin with, and no name does."""
_ENDS_WITH_YEAR = re.compile(r"(?:19|20)\d\d[a-z]?\)?\s*\.?$")
_ENDS = re.compile(r"[.)\]\d/]$")


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry of the list.

    Attributes:
        text: without its number or label.
        label: number or label without brackets; "" without one.
        surname: of its first author, in lower case without accents.
        authors: the part of the text, or of the label, that names authors, likewise.
        years: that stand in it, the likeliest first, with letters as ``2004a``.

    Example:
        >>> reference = reference_of("Chin-Yew Lin and Franz Josef Och. 2004a. Automatic evaluation.", "")
        >>> reference.surname, reference.years
        ('lin', ('2004a',))
    """

    text: str
    label: str
    surname: str
    authors: str
    years: tuple[str, ...]


def reference_of(text: str, label: str, *, year_last: bool = False) -> Reference:
    """The reference that a text makes.

    Args:
        text: without the label.
        label: without brackets.
        year_last: whether the year of publication is the last one in the text.
    """
    named = label if YEAR.search(label) else text
    years = YEAR.findall(named)
    years = years[::-1] if year_last and named is text else years
    return Reference(text, label, plain(first_surname(named)), authors_of(named), tuple(dict.fromkeys(years)))


def split_references(lines: Sequence[str]) -> list[Reference]:
    """The entries of a list, in its order; what stands before the first is left out.

    Args:
        lines: of the list, without its heading.

    Example:
        >>> lines = ["[1] A. Lee. Trees. 1999.", "[2] B. Kim. Graphs and the gram-", "mar of them. 2001."]
        >>> [(reference.label, reference.text) for reference in split_references(lines)]
        [('1', 'A. Lee. Trees. 1999.'), ('2', 'B. Kim. Graphs and the grammar of them. 2001.')]
        >>> lines = ["Ann Lee. 1999. Trees. In", "ACL.", "Bo Kim and Ann Lee. 2001. Graphs."]
        >>> [reference.text for reference in split_references(lines)]
        ['Ann Lee. 1999. Trees. In ACL.', 'Bo Kim and Ann Lee. 2001. Graphs.']
    """
    lines = [line for line in lines if line.strip()]
    ways = [
        list(_numbered(lines, _BRACKETED, 1 + _MISSING)),
        list(_numbered(lines, _DOTTED, 1)),
        list(_labelled(lines)),
    ]
    starts = max(ways, key=len)
    if starts and starts[0][0] < _PREFACE:
        return [reference_of(text, label) for label, text in _entries(lines, starts)]
    behind = [(at, "", 0) for at in _starts(lines, _has_names_and_year)]
    last = [(at, "", 0) for at in _starts(lines, _has_names, _ENDS_WITH_YEAR)]
    year_last = len(last) > len(behind)
    chosen = last if year_last else behind
    return [reference_of(text, "", year_last=year_last) for _, text in _entries(lines, chosen)]


Start = tuple[int, str, int]
"""Line at which an entry begins, its label, and where its text begins in the line."""


def _numbered(lines: Sequence[str], pattern: re.Pattern[str], step: int) -> Iterator[Start]:
    """Where the numbers of a list stand: 1, and then each of the next ones."""
    number = 0
    for at, line in enumerate(lines):
        match = pattern.match(line)
        if match is None:
            continue
        found = int(match[1])
        if found == 1 if not number else number < found <= number + step:
            number = found
            yield at, str(found), match.end()


def _labelled(lines: Sequence[str]) -> Iterator[Start]:
    if not lines or not _LABEL.match(lines[0]):
        return
    for at, line in enumerate(lines):
        if match := _LABEL.match(line):
            yield at, " ".join(match[1].split()), match.end()


def _starts(
    lines: Sequence[str], begins: Callable[[str], bool], ends: re.Pattern[str] = _ENDS
) -> Iterator[int]:
    """Lines with which entries begin, each of which stands behind the end of an entry with a year."""
    since = ""
    for at, line in enumerate(lines):
        is_behind = not since or (bool(ends.search(lines[at - 1])) and bool(YEAR.search(since)))
        if is_behind and begins(" ".join(lines[at : at + _LOOK])[:MAX_CHARS]):
            since = ""
            yield at
        since = f"{since} {line}"[-MAX_CHARS:]


def _has_names(text: str) -> bool:
    match = None if _NO_NAMES.match(text) else _NAMES.match(text)
    return match is not None and ("," in match[0] or " " in match[0].strip())


def _has_names_and_year(text: str) -> bool:
    match = None if _NO_NAMES.match(text) else _NAMES.match(text)
    return match is not None and bool(_YEAR_BEHIND.match(text, match.end()))


def _entries(lines: Sequence[str], starts: Sequence[Start]) -> Iterator[tuple[str, str]]:
    """Label and text of each entry."""
    ends = [*(at for at, _, _ in starts), len(lines)][1:]
    room = MAX_LIST_CHARS
    for (at, label, first), end in list(zip(starts, ends, strict=True))[:MAX_REFERENCES]:
        text = lines[at][first:]
        for line in lines[at + 1 : end]:
            text = joined(text, line)
            if len(text) > MAX_CHARS:
                break
        room -= min(len(text), MAX_CHARS)
        if room < 0:
            return
        yield label, text[:MAX_CHARS].strip()

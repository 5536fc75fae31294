"""The functions and filters of Better BibTeX's formulas that cocite knows, and what stands in their brackets.

Source: https://retorque.re/zotero-better-bibtex/citing/formulas/. Known are those that need title, authors and year
alone. Accents are taken off before a function or filter counts or changes letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cocite.corpus.better_bibtex import family_name, folded, is_skipped, title_words
from cocite.corpus.records import PaperRecord

MAX_TEXT = 1000
"""Characters of a text that a filter is given, and of what it gives: replacing can make a text longer each time."""
SAFE = re.compile(r"[A-Za-z0-9_:.+/-]*")
"""What may come into a key."""
_SOUGHT = re.compile(r"[ -~]*")

Argument = tuple[str, int | str]
"""The name of an argument, "" where it has none, and its value."""
_Kind = Literal["number", "text", "sought"]


@dataclass(frozen=True)
class Part:
    """A function or filter.

    Attributes:
        make: gives a text, of a paper or of a text, and of the arguments by their names.
        takes: what may stand in its brackets, in words.
        parameters: name of a parameter -> a whole number, a text that comes into the key, or one that is sought.
        is_named: whether its arguments are told by their names alone.
        needs: how many arguments it needs.

    Example:
        >>> AUTHORS = FUNCTIONS["authors"].bind([("", 1)])
        >>> FUNCTIONS["authors"].make(PaperRecord("a", "T", authors=("Ann Lee", "Bo Kim")), **AUTHORS)
        'Lee EtAl'
        >>> FILTERS["select"].bind([("n", "two")]) is None
        True
    """

    make: Callable[..., str]
    takes: str = "nothing"
    parameters: Mapping[str, _Kind] = field(default_factory=dict)
    is_named: bool = False
    needs: int = 0

    def bind(self, arguments: Sequence[Argument]) -> dict[str, int | str] | None:
        """The arguments by their names; None where they are not what it takes."""
        names, bound = list(self.parameters), dict[str, int | str]()
        for at, (name, value) in enumerate(arguments):
            if not name and not self.is_named and at < len(names):
                name = names[at]
            if name not in self.parameters or name in bound or not _fits(value, self.parameters[name]):
                return None
            bound[name] = value
        return bound if len(bound) >= self.needs else None


def _fits(value: int | str, kind: _Kind) -> bool:
    if kind == "number":
        return isinstance(value, int)
    return isinstance(value, str) and bool((SAFE if kind == "text" else _SOUGHT).fullmatch(value))


def _auth(paper: PaperRecord, n: int = 0, m: int = 1) -> str:
    """The first n letters (0: all) of the m-th author's family name."""
    names = _families(paper)
    return names[m - 1][: n or None] if 0 < m <= len(names) else ""


def _authors(paper: PaperRecord, n: int = 0) -> str:
    """The family names of the first n authors (0: all), and EtAl where there are more."""
    names = _families(paper)
    return " ".join([*names[:n], "EtAl"] if 0 < n < len(names) else names)


def _auth_etal(paper: PaperRecord, sep: str = " ") -> str:
    """The first author's family name, and the second's where there are two, or else EtAl."""
    return _with_second(paper, sep, "EtAl")


def _auth_etal2(paper: PaperRecord, sep: str = ".") -> str:
    """The same with a dot between them, and etal."""
    return _with_second(paper, sep, "etal")


def _with_second(paper: PaperRecord, sep: str, others: str) -> str:
    names = _families(paper)
    return sep.join([*names[:1], others] if len(names) > 2 else names)


def _short_title(paper: PaperRecord, n: int = 3, m: int = 0) -> str:
    """The first n words of the title that are not skipped, the first m of them with a capital."""
    words = title_words(paper.title)[:n]
    return " ".join(word[0].upper() + word[1:] if i < m else word for i, word in enumerate(words))


def _very_short_title(paper: PaperRecord, n: int = 1, m: int = 0) -> str:
    return _short_title(paper, n, m)


def _title(paper: PaperRecord) -> str:
    """All words of the title that are not skipped."""
    return " ".join(title_words(paper.title))


def _year(paper: PaperRecord) -> str:
    return str(paper.year) if paper.year else ""


def _short_year(paper: PaperRecord) -> str:
    return f"{paper.year % 100:02}" if paper.year else ""


def _families(paper: PaperRecord) -> list[str]:
    return [name for name in map(family_name, paper.authors) if name]


def _capitalize(text: str) -> str:
    """Each word with a capital; other letters stay."""
    return re.sub(r"(?:^|\s)[a-z]", lambda match: match[0].upper(), text)


def _alphanum(text: str) -> str:
    """Letters and digits alone, and the spaces between words."""
    return " ".join(re.sub(r"[^A-Za-z0-9\s]", "", text).split())


def _condense(text: str, sep: str = "") -> str:
    """With something else in place of the spaces."""
    return sep.join(text.split())


def _abbr(text: str, chars: int = 1) -> str:
    """The first letters of each word."""
    return "".join(word[:chars] for word in text.split())


def _select(text: str, start: int = 1, n: int | None = None) -> str:
    """n words (default: all), from one on that is counted from 1."""
    words = text.split()[max(start, 1) - 1 :]
    return " ".join(words if n is None else words[: max(n, 1)])


def _skip_words(text: str) -> str:
    """Without words such as "the" and "of"."""
    return " ".join(word for word in text.split() if not is_skipped(word))


def _replace(text: str, find: str, replace: str) -> str:
    """Each place of a text, whatever its capitals, replaced."""
    return re.sub(re.escape(find), lambda _: replace, text, flags=re.IGNORECASE) if find else text


def _numbers(*names: str) -> dict[str, _Kind]:
    return dict.fromkeys(names, "number")


_TWO = "at most 2 whole numbers"
_SEP = "nothing, or a text, as sep='_',"
FUNCTIONS: dict[str, Part] = {
    "auth": Part(_auth, _TWO, _numbers("n", "m")),
    "authors": Part(_authors, "at most 1 whole number", _numbers("n")),
    "authorsn": Part(_authors, "at most 1 whole number", _numbers("n")),
    "authetal": Part(_auth_etal, _SEP, {"sep": "text"}, is_named=True),
    "authetal2": Part(_auth_etal2, _SEP, {"sep": "text"}, is_named=True),
    "shorttitle": Part(_short_title, _TWO, _numbers("n", "m")),
    "veryshorttitle": Part(_very_short_title, _TWO, _numbers("n", "m")),
    "title": Part(_title),
    "year": Part(_year),
    "shortyear": Part(_short_year),
}
"""Name, in small letters, -> what it gives of a paper."""
FILTERS: dict[str, Part] = {
    "lower": Part(str.lower),
    "upper": Part(str.upper),
    "capitalize": Part(_capitalize),
    "fold": Part(folded),
    "alphanum": Part(_alphanum),
    "condense": Part(_condense, "at most 1 text", {"sep": "text"}),
    "abbr": Part(_abbr, "at most 1 whole number", _numbers("chars")),
    "select": Part(_select, _TWO, _numbers("start", "n")),
    "skipwords": Part(_skip_words),
    "replace": Part(
        _replace, "2 texts, the sought and the new one,", {"find": "sought", "replace": "text"}, needs=2
    ),
}
"""Name, in small letters, -> what it makes of a text."""

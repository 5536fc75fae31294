"""Citation keys by a formula of Better BibTeX for Zotero, such as its default ``auth.lower + shorttitle(3,3) + year``.

Source: https://retorque.re/zotero-better-bibtex/citing/formulas/. Of its functions and filters some are known, which
need title, authors and year alone. Accents are taken off before a function or filter counts or changes letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from cocite.corpus.better_bibtex import family_name, title_words
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError

DEFAULT = "auth.lower + shorttitle(3,3) + year"
"""Of Better BibTeX."""
MAX_CHARS = 200
"""Characters of a formula."""
NO_KEY = "anon"
"""The key of a paper of which a formula makes none."""

_Piece = Callable[[PaperRecord], str]


def _auth(paper: PaperRecord, n: int = 0, m: int = 1) -> str:
    """The first n letters (0: all) of the m-th author's family name."""
    names = _families(paper)
    return names[m - 1][: n or None] if 0 < m <= len(names) else ""


def _authors(paper: PaperRecord, n: int = 0) -> str:
    """The family names of the first n authors (0: all), and EtAl where there are more."""
    names = _families(paper)
    return " ".join([*names[:n], "EtAl"] if 0 < n < len(names) else names)


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


FUNCTIONS: dict[str, tuple[Callable[..., str], int]] = {
    "auth": (_auth, 2),
    "authors": (_authors, 1),
    "authorsn": (_authors, 1),
    "shorttitle": (_short_title, 2),
    "veryshorttitle": (_very_short_title, 2),
    "title": (_title, 0),
    "year": (_year, 0),
    "shortyear": (_short_year, 0),
}
"""Name -> what it gives of a paper, and how many numbers it takes."""
FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "capitalize": _capitalize,
}
"""Name -> what it makes of a text."""

_LITERAL = re.compile(r"""(?P<quote>["'])(?P<text>[A-Za-z0-9_:.+/-]*)(?P=quote)""")
_CALL = re.compile(
    r"(?P<name>[A-Za-z]\w*)\s*(?:\(\s*(?P<numbers>(?:[0-9]{1,3}\s*(?:,\s*[0-9]{1,3}\s*)*)?)\))?"
)
_FILTER = re.compile(r"\s*\.\s*(?P<name>[A-Za-z]\w*)\s*(?:\(\s*\))?")
_BETWEEN = re.compile(r"\s*(?P<sign>[+|])\s*")
_HINT = 'write it as auth.lower + "_" + shorttitle(1,1) + year'


@dataclass(frozen=True)
class KeyFormula:
    """How the key of a paper is made.

    Attributes:
        alternatives: of which the first counts that gives something, each a sum of pieces.

    Example:
        >>> paper = PaperRecord("a", "Attention Is All You Need", year=2017, authors=("Ashish Vaswani", "Noam Shazeer"))
        >>> KeyFormula.parse(DEFAULT).key(paper)
        'vaswaniAttentionAllYou2017'
        >>> KeyFormula.parse("authors(1).upper + '-' + shortyear").key(paper)
        'VASWANIETAL-17'
        >>> KeyFormula.parse("auth + month")
        Traceback (most recent call last):
        cocite.errors.InputError: formula, character 8: cocite knows no function 'month' (known: auth, authors, ...)
    """

    alternatives: Sequence[Sequence[_Piece]]

    @classmethod
    def parse(cls, formula: str, where: str = "formula") -> Self:
        """Read a formula: functions with filters behind dots, and texts in quotes, joined by ``+``; ``|`` means else.

        Args:
            formula: as Better BibTeX has it.
            where: for errors.

        Raises:
            InputError: it has a part that is not known, is longer than ``MAX_CHARS``, or is none.
        """
        text = formula.strip()
        if len(text) > MAX_CHARS:
            raise InputError(f"has more than {MAX_CHARS} characters", where=where)
        alternatives: list[list[_Piece]] = [[]]
        at = 0
        while True:
            piece, at = _piece(text, at, where)
            alternatives[-1].append(piece)
            if at == len(text):
                return cls(alternatives)
            sign = _BETWEEN.match(text, at)
            if not sign:
                raise _error(where, at, f"'+' is missing before {text[at : at + 20]!r}")
            if sign["sign"] == "|":
                alternatives.append([])
            at = sign.end()

    def key(self, paper: PaperRecord) -> str:
        """The key of a paper, of letters, digits and ``_:.+/-``, with a letter or digit; see ``NO_KEY``."""
        for pieces in self.alternatives:
            key = "".join("".join(piece(paper).split()) for piece in pieces)
            if re.search("[A-Za-z0-9]", key):
                return key
        return NO_KEY


def _piece(text: str, at: int, where: str) -> tuple[_Piece, int]:
    """A function or a text in quotes, and where it ends."""
    if literal := _LITERAL.match(text, at):
        words = literal["text"]
        return lambda _: words, literal.end()
    if text[at : at + 1] in {'"', "'"}:
        raise _error(
            where,
            at,
            "a text in quotes has letters without accents, digits and _:.+/- alone, and ends with its quote",
        )
    call = _CALL.match(text, at)
    if not call:
        raise _error(where, at, f"a function or a text in quotes is missing{_before(text, at)}")
    name, at = call["name"], call.end()
    if name not in FUNCTIONS:
        raise _error(where, call.start(), f"cocite knows no function {name!r}", _known(FUNCTIONS))
    make, most = FUNCTIONS[name]
    numbers = [int(number) for number in re.findall("[0-9]+", call["numbers"] or "")]
    if len(numbers) > most or text[at : at + 1] == "(":
        raise _error(where, call.start(), f"{name!r} takes {_count(most)} in brackets")
    steps = []
    while step := _FILTER.match(text, at):
        if step["name"] not in FILTERS:
            raise _error(
                where, step.start("name"), f"cocite knows no filter {step['name']!r}", _known(FILTERS)
            )
        steps.append(FILTERS[step["name"]])
        at = step.end()

    def piece(paper: PaperRecord) -> str:
        given = make(paper, *numbers)
        for change in steps:
            given = change(given)
        return given

    return piece, at


def _count(most: int) -> str:
    return f"at most {most} whole number{'s' * (most > 1)}" if most else "nothing"


def _known(names: Iterable[str]) -> str:
    return f"known: {', '.join(names)}"


def _before(text: str, at: int) -> str:
    return f" before {text[at : at + 20]!r}" if text[at:] else " at the end"


def _error(where: str, at: int, what: str, hint: str = _HINT) -> InputError:
    return InputError(what, where=f"{where}, character {at + 1}", hint=hint)

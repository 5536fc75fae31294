"""Citation keys by a formula of Better BibTeX for Zotero, such as its default ``auth.lower + shorttitle(3,3) + year``.

Source: https://retorque.re/zotero-better-bibtex/citing/formulas/. :mod:`~cocite.corpus.key_formula_parts` has the
functions and filters that are known. The form with square brackets is that of its documentation until 2022.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from cocite.corpus.key_formula_parts import FILTERS, FUNCTIONS, MAX_TEXT, Argument, Part
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError

DEFAULT = "auth.lower + shorttitle(3,3) + year"
"""Of Better BibTeX."""
MAX_CHARS = 200
"""Characters of a formula."""
NO_KEY = "anon"
"""The key of a paper of which a formula makes none."""

_Piece = Callable[[PaperRecord], str]
_LITERAL = re.compile(r"""(?P<quote>["'])(?P<text>[A-Za-z0-9_:.+/-]*)(?P=quote)""")
_VALUE = r"""(?P<number>[0-9]{1,3})\b|(?P<quote>["'])(?P<text>[^"'\\]*)(?P=quote)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"""
_ARGUMENT = re.compile(rf"\s*(?:(?P<name>[a-z]+)\s*=\s*)?(?:{_VALUE})\s*", re.ASCII)
_NAME = re.compile(r"[A-Za-z]\w*")
_OPENS, _CLOSES = re.compile(r"\s*\("), re.compile(r"\s*\)")
_DOT = re.compile(r"\s*\.\s*(?=[A-Za-z])")
_BETWEEN = re.compile(r"\s*(?P<sign>[+|])\s*")
_BRACKETS = re.compile(r"""[^"'()+\[\]]*\[""")
"""The beginning of a formula in the form that Better BibTeX had until 2022, as ``[auth:lower]_[year]``."""
_FIELD = re.compile(
    r"\[(?P<name>[A-Za-z.]+)(?P<numbers>(?:[0-9]{1,3}(?:_[0-9]{1,3})?)?)(?P<filters>(?::[^\[\]:]+)*)\]"
)
_PLAIN = re.compile(r"[A-Za-z0-9_:.+/-]+")
_OLD_NAMES = {"auth.etal": "authetal2"}
"""Names of the old form -> those of today."""
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
        >>> KeyFormula.parse("[auth:lower]_[year]").key(paper)
        'vaswani_2017'
        >>> KeyFormula.parse("auth + month")
        Traceback (most recent call last):
        cocite.errors.InputError: formula, character 8: cocite knows no function 'month' (known: auth, authors, ...)
    """

    alternatives: Sequence[Sequence[_Piece]]

    @classmethod
    def parse(cls, formula: str, where: str = "formula") -> Self:
        """Read a formula: functions with filters behind dots, and texts in quotes, joined by ``+``; ``|`` means else.

        The form that Better BibTeX had until 2022, as ``[auth:lower]_[year]``, is read too.

        Args:
            formula: as Better BibTeX has it.
            where: for errors.

        Raises:
            InputError: it has a part that is not known, is longer than ``MAX_CHARS``, or is none.
        """
        text = formula.strip()
        if len(text) > MAX_CHARS:
            raise InputError(f"has more than {MAX_CHARS} characters", where=where)
        return cls(_old_form(text, where) if _BRACKETS.match(text) else _form(text, where))

    def key(self, paper: PaperRecord) -> str:
        """The key of a paper, of letters, digits and ``_:.+/-``, with a letter or digit; see ``NO_KEY``."""
        for pieces in self.alternatives:
            key = "".join("".join(piece(paper).split()) for piece in pieces)
            if re.search("[A-Za-z0-9]", key):
                return key
        return NO_KEY


def _form(text: str, where: str) -> list[list[_Piece]]:
    """The alternatives of a formula."""
    alternatives: list[list[_Piece]] = [[]]
    at = 0
    while True:
        piece, at = _piece(text, at, where)
        alternatives[-1].append(piece)
        if at == len(text):
            return alternatives
        sign = _BETWEEN.match(text, at)
        if not sign:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _error(where, at, f"'+' is missing before {text[at : at + 20]!r}")
        if sign["sign"] == "|":
            alternatives.append([])
        at = sign.end()


def _piece(text: str, at: int, where: str) -> tuple[_Piece, int]:
    """A function or a text in quotes, and where it ends."""
    if literal := _LITERAL.match(text, at):
        return partial(_same, literal["text"]), literal.end()
    if text[at : at + 1] in {'"', "'"}:
        raise _error(
            where,
            at,
            "a text in quotes has letters without accents, digits and _:.+/- alone, and ends with its quote",
        )
    made, at = _call(text, at, where, FUNCTIONS, "function")
    steps = []
    while dot := _DOT.match(text, at):
        step, at = _call(text, dot.end(), where, FILTERS, "filter")
        steps.append(step)
    return _chain(made, steps), at


def _call(
    text: str, at: int, where: str, known: Mapping[str, Part], noun: str
) -> tuple[Callable[..., str], int]:
    """A function or filter with its arguments, and where it ends."""
    start, found = at, _NAME.match(text, at)
    if not found:
        raise _error(where, at, f"a function or a text in quotes is missing{_before(text, at)}")
    name, at = found[0], found.end()
    arguments: list[Argument] | None = []
    if opened := _OPENS.match(text, at):
        arguments, at = _arguments(text, opened.end())
    return _bound(name, arguments, where, start, known, noun), at


def _arguments(text: str, at: int) -> tuple[list[Argument] | None, int]:
    """What stands in brackets, and where they end; None where it is of no known form."""
    found: list[Argument] = []
    if closed := _CLOSES.match(text, at):
        return found, closed.end()
    while argument := _ARGUMENT.match(text, at):
        number, quoted = argument["number"], argument["text"]
        value = int(number) if number else argument["word"] if quoted is None else quoted
        found.append((argument["name"] or "", value))
        at = argument.end() + 1
        if text[at - 1 : at] == ")":
            return found, at
        if text[at - 1 : at] != ",":
            break
    return None, at


def _bound(
    name: str,
    arguments: Sequence[Argument] | None,
    where: str,
    at: int,
    known: Mapping[str, Part],
    noun: str,
) -> Callable[..., str]:
    """A function or filter with its arguments; its name may have capitals but for the first letter."""
    part = known.get(name[0] + name[1:].lower())
    if part is None:
        raise _error(where, at, f"cocite knows no {noun} {name!r}", _known(known))
    bound = None if arguments is None else part.bind(arguments)
    if bound is None:
        raise _error(where, at, f"{name!r} takes {part.takes} in brackets")
    return partial(part.make, **bound)


def _chain(made: Callable[[PaperRecord], str], steps: Sequence[Callable[[str], str]]) -> _Piece:
    """A function, and filters one after the other."""

    def piece(paper: PaperRecord) -> str:
        given = made(paper)
        for change in steps:
            given = change(given[:MAX_TEXT])
        return given

    return piece


def _old_form(text: str, where: str) -> list[list[_Piece]]:
    """The alternatives of a formula in the old form: fields in brackets, with filters behind colons, and plain text."""
    alternatives: list[list[_Piece]] = [[]]
    at = 0
    while at < len(text):
        if text[at] == "|":
            alternatives.append([])
            at += 1
        elif text[at].isspace():
            at += 1
        elif held := _FIELD.match(text, at):
            alternatives[-1].append(_old_field(held, where))
            at = held.end()
        elif plain := _PLAIN.match(text, at):
            alternatives[-1].append(partial(_same, plain[0]))
            at = plain.end()
        else:
            raise _error(where, at, f"a field in brackets or plain text is missing{_before(text, at)}")
    if not all(alternatives):
        raise _error(where, at, "a field in brackets or plain text is missing beside '|'")
    return alternatives


def _old_field(held: re.Match[str], where: str) -> _Piece:
    """A field such as ``[auth3_1:lower:condense=_]``."""
    name = _OLD_NAMES.get(held["name"].lower(), held["name"])
    numbers: list[Argument] = [("", int(number)) for number in re.findall("[0-9]+", held["numbers"])]
    made = _bound(name, numbers, where, held.start("name"), FUNCTIONS, "function")
    steps, at = [], held.start("filters")
    for written in held["filters"].split(":")[1:]:
        filter_, *values = re.split("[=,]", written)
        part = FILTERS.get(filter_)
        is_number = part is not None and "number" in part.parameters.values()
        arguments: list[Argument] = [
            ("", int(one) if is_number and re.fullmatch("[0-9]{1,3}", one) else one) for one in values
        ]
        steps.append(_bound(filter_ or ":", arguments, where, at + 1, FILTERS, "filter"))
        at += 1 + len(written)
    return _chain(made, steps)


def _same(words: str, _: PaperRecord) -> str:
    return words


def _known(names: Iterable[str]) -> str:
    return f"known: {', '.join(names)}"


def _before(text: str, at: int) -> str:
    return f" before {text[at : at + 20]!r}" if text[at:] else " at the end"


def _error(where: str, at: int, what: str, hint: str = _HINT) -> InputError:
    return InputError(what, where=f"{where}, character {at + 1}", hint=hint)

"""Names of authors by their parts, as bibliographies want them."""

from __future__ import annotations

import re
from typing import NamedTuple

_SUFFIX = re.compile(r",? ((?:Jr|Sr)\.?|I{2,3}|IV)$")
_COMPANY = re.compile(r"(?:Inc|Ltd|LLC|GmbH|Corp)\b\.?$")
_NO_PERSON = re.compile(r"\band\b|^(?:others|et al\.?)$", re.IGNORECASE)
"""BibTeX splits authors at the word "and", and "others" stands for further authors."""
_TO_LETTERS = {ord(sign): 0xE000 + i for i, sign in enumerate("{}\\~")}
_FROM_LETTERS = {letter: sign for sign, letter in _TO_LETTERS.items()}
"""Signs that BibTeX reads in its own way, as letters of no alphabet while a name is split."""


class Name(NamedTuple):
    """A person's name.

    Example:
        >>> Name("Beethoven", given="Ludwig", particle="van").last_first
        'van Beethoven, Ludwig'
    """

    family: str
    given: str = ""
    particle: str = ""
    suffix: str = ""

    @property
    def last_first(self) -> str:
        """``Family, Given, Suffix``, as RIS has it."""
        family = f"{self.particle} {self.family}".strip()
        return ", ".join([family, self.given, self.suffix]).rstrip(", ")

    @property
    def first_last(self) -> str:
        """``Given Family Suffix``, as a corpus has it."""
        return " ".join(part for part in (self.given, self.particle, self.family, self.suffix) if part)


def split_name(author: str) -> Name | None:
    """A name by its parts; None for that of an organisation, and for one that has no family name.

    Args:
        author: ``Given Family`` or ``Family, Given``, with single spaces.

    Source: without a comma, the last word and lower-case ones before it are the family name, as BibTeX has it.

    Example:
        >>> split_name("Martin Luther King, Jr.")
        Name(family='King', given='Martin Luther', particle='', suffix='Jr.')
        >>> split_name("Google, Inc.") is None
        True
    """
    from pybtex.database import Person  # takes a tenth of a second to import

    suffix = _SUFFIX.search(author)
    stem = author[: suffix.start()] if suffix else author
    family, comma, given = (part.strip() for part in stem.partition(","))
    if _NO_PERSON.search(author) or not stem:
        return None
    if comma and ("," in given or _COMPANY.search(given) or not family or not given):
        return None
    if suffix and not comma and " " not in stem:
        return None
    person = Person(stem.translate(_TO_LETTERS))

    def text(*parts: list[str]) -> str:
        return " ".join(word for part in parts for word in part).translate(_FROM_LETTERS)

    return Name(
        text(person.last_names),
        text(person.first_names, person.middle_names),
        text(person.prelast_names),
        suffix[1] if suffix else "",
    )

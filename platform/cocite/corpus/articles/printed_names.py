"""The names that a printed reference begins with, and whether a citation names them."""

from __future__ import annotations

import re
import unicodedata

YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d[a-z]?(?![\d\w])")
"""A year, with the letter that tells two references of one author apart."""
_CHARS = 400
"""Characters of a reference in which its authors stand."""
_END_OF_FIRST = re.compile(r",|;|&|\(|:|\band\b|\bet al\b|(?<=[^\W\d_]{2})\.(?=\s|$)")
_GIVEN = re.compile(r"[A-Z]{1,3}|(?:[A-Z]\.-?)+")


def first_surname(reference: str) -> str:
    """The surname of the first author whom a reference names; "" where it begins with none.

    Example:
        >>> first_surname("Kishore Papineni, Todd Ward. 2002. BLEU."), first_surname("van der Maaten, L.: Visualizing")
        ('Papineni', 'Maaten')
        >>> first_surname("Lee A, Kim B. Trees.")
        'Lee'
    """
    text = reference[:_CHARS]
    end = _END_OF_FIRST.search(text)
    first = text[: end.start()] if end else text
    words = first.split()
    while len(words) > 1 and _GIVEN.fullmatch(words[-1]):
        words.pop()  # "Vaswani A"
    return words[-1].strip(".") if words else ""


def authors_of(reference: str) -> str:
    """The part of a reference that its authors stand in, in the form of :func:`plain`: up to its year or its title.

    Example:
        >>> authors_of("Chin-Yew Lin and Franz Josef Och. 2004. Automatic evaluation.")
        'chin-yew lin and franz josef och. '
    """
    text = reference[:_CHARS]
    year = YEAR.search(text)
    return plain(text[: year.start()] if year else text)


def plain(text: str) -> str:
    """A text in lower case without accents.

    Example:
        >>> plain("Müller")
        'muller'
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))

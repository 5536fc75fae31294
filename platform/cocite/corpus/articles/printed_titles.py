"""Pieces of printed references that may be titles, and the DOIs in a text.

Nothing says where in a reference the title is, so every piece between full stops, commas and quotation marks, and every
run of a few such pieces, may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_RUN = 4
"""Pieces that a title may be divided into, as by the colon and the commas in it."""
_WORDS = range(2, 41)
"""Words of a title that is looked up."""
_SEPARATOR = re.compile(r"[.?!:,;]+(?=\s|$)|[\"“”„‘’«»()]|\s[-–—]\s")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]{1,200}")


class Piece(NamedTuple):
    """A piece of a text, with its place in it.

    Example:
        >>> Piece("Trees", 10, 15).text
        'Trees'
    """

    text: str
    start: int
    end: int


def printed_dois(text: str) -> list[Piece]:
    """The DOIs in a text, without what ends a sentence or a bracket behind them; the places are those with it.

    Example:
        >>> printed_dois("Lee. Trees (doi:10.1000/182).")
        [Piece(text='10.1000/182', start=16, end=29)]
    """
    return [Piece(match[0].rstrip(".,;)"), *match.span()) for match in _DOI.finditer(text)]


def possible_titles(text: str) -> list[Piece]:
    """The runs of pieces of a text that have as many words as titles have, in the order of their beginnings.

    Example:
        >>> [run.text for run in possible_titles("Lee. Trees: a short study. 2001.")]
        ['Lee Trees', 'Lee Trees a short study', 'Lee Trees a short study 2001', 'Trees a short study', ...]
    """
    return list(_runs(_pieces(text)))


def _pieces(text: str) -> list[Piece]:
    """What stands between the separators of a text."""
    ends = [*(match.span() for match in _SEPARATOR.finditer(text)), (len(text), len(text))]
    starts = [0, *(end for _, end in ends)]
    return [
        Piece(text[start:end].strip(), start, end)
        for start, (end, _) in zip(starts, ends, strict=False)
        if text[start:end].strip()
    ]


def _runs(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces that follow one another, put together, of as many words as titles have."""
    for first in range(len(pieces)):
        text = ""
        for last in range(first, min(first + _RUN, len(pieces))):
            text = f"{text} {pieces[last].text}".strip()
            words = len(text.split())
            if words > _WORDS[-1]:
                break
            if words in _WORDS:
                yield Piece(text, pieces[first].start, pieces[last].end)

"""Where the source has the sentences of a block of text, of whose pieces a reader knows the places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cocite.drafts.draft import Place


class Origin(NamedTuple):
    """A piece of a block's text, and what it was read from.

    Example:
        >>> accent = Origin(4, 1, Place("a.tex", 1, 10, 13))
        >>> accent.start_of(4), accent.end_of(4)
        (10, 13)
        >>> word = Origin(5, 5, Place("a.tex", 1, 13, 18), is_copy=True)
        >>> word.start_of(7), word.end_of(7)
        (15, 16)
    """

    offset: int
    """Of the piece in the block's text."""
    length: int
    place: Place
    is_copy: bool = False
    """Whether the source has the same characters."""

    def start_of(self, at: int) -> int:
        """Where the source has a character of the text, or else the whole piece that it is of."""
        return self.place.start + max(0, at - self.offset) if self.is_copy else self.place.start

    def end_of(self, at: int) -> int:
        """Where that ends."""
        return self.place.start + at - self.offset + 1 if self.is_copy else self.place.end


class Origins:
    """The places of a block's sentences, one after the other.

    Args:
        text: of the block.
        origins: of its pieces, in their order.
        lines: file -> where its lines begin, as :func:`line_starts` has it; sentences of other files have no place.

    Example:
        >>> pieces = [Origin(0, 6, Place("", 1, 0, 6), True), Origin(6, 4, Place("", 1, 7, 11), True)]
        >>> Origins("Trees help", pieces, {"": line_starts("Trees {help}")}).next(len("Treeshelp"))
        Place(file='', line=1, start=0, end=11)
    """

    def __init__(self, text: str, origins: Sequence[Origin], lines: Mapping[str, Sequence[int]]) -> None:
        # A sentence has the block's characters but spaces, which its reader has changed.
        self._signs = [at for at, sign in enumerate(text) if not sign.isspace()] if origins else []
        self._origins, self._lines = origins, lines
        self._offsets = [one.offset for one in origins]
        self._at = 0

    def next(self, signs: int) -> Place | None:
        """Where the source has the following sentence; None where its end is not known.

        Args:
            signs: characters of the block's text that the sentence has, spaces not counted.
        """
        own = self._signs[self._at : self._at + signs]
        self._at += signs
        if not own:
            return None
        at = max(0, bisect_right(self._offsets, own[0]) - 1)
        if self._origins[at].offset + self._origins[at].length <= own[0]:
            at += 1  # of the first characters nothing is known
        last = self._origins[bisect_right(self._offsets, own[-1]) - 1]
        if at == len(self._origins) or last.offset + last.length <= own[-1]:
            return None
        first = self._origins[at]
        start, end = first.start_of(own[0]), last.end_of(own[-1])
        file = first.place.file
        if file != last.place.file or file not in self._lines or end <= start:
            return None
        return Place(file, bisect_right(self._lines[file], start), start, end)


def line_starts(text: str) -> list[int]:
    """Where the lines of a text begin.

    Example:
        >>> line_starts("One\\nTwo")
        [0, 4]
    """
    return [0, *(match.end() for match in re.finditer("\n", text))]

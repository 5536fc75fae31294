"""Places in a document: the editor counts lines and code units of them, a text has characters."""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The lines of a text as the Language Server Protocol divides it: at no other signs than line feeds and returns.

    Args:
        text: of the document.
        codec: of the editor's positions.

    Example:
        >>> lines = Lines("a\\r\\n\U0001f600 b", PositionCodec())  # two UTF-16 units for the face
        >>> lines.offset(Position(1, 3)), lines.position(5)
        (5, 1:3)
        >>> lines.offset(Position(9, 0)), lines.offset(Position(0, 9))  # beyond the end
        (6, 1)
    """

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._text, self._codec = text, codec
        ends = list(_LINE_END.finditer(text))
        self._starts = [0, *(match.end() for match in ends)]
        self._ends = [*(match.start() for match in ends), len(text)]

    def offset(self, position: Position) -> int:
        """The character of a place; one behind the end of a line or of the text is that end."""
        if position.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[position.line], self._ends[position.line]
        units = 0
        for at in range(start, end):
            if units >= position.character:
                return at
            units += self._codec.client_num_units(self._text[at])
        return end

    def position(self, offset: int) -> Position:
        """The place of a character."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._codec.client_num_units(self._text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        """The place of some characters."""
        return Range(self.position(start), self.position(end))

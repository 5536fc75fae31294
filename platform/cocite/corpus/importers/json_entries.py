"""Reads the entries of one JSON object that is too large for the memory, such as papers under their ids.

Memory is bounded by the longest entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.json_values import Window, next_value, not_an_object
from cocite.corpus.records import Malformed
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError


def json_entries(
    stream: InputFile, position: SourcePosition
) -> Iterator[tuple[str, dict[str, Any] | Malformed]]:
    """The names and values of the object that a file consists of; ``position.line`` is the line of the last name.

    A value that is not a JSON object is :class:`Malformed`.

    Raises:
        InputError: the file is not one JSON object, or not valid JSON: what follows cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.files import InputFile
        >>> from cocite.corpus.importers.json_entries import json_entries
        >>> from cocite.corpus.streams import SourcePosition
        >>> _ = Path("papers.json").write_text('{"P05-1022": {"title": "A"}, "N04-1019": {"title": "B"}}')
        >>> with InputFile(Path("papers.json")) as stream:
        ...     for name, value in json_entries(stream, SourcePosition()):
        ...         print(name, value)
        P05-1022 {'title': 'A'}
        N04-1019 {'title': 'B'}
    """
    decoder = json.JSONDecoder()
    text = Window(stream)

    path = str(stream.path)
    if not text.skip_space() or not expect(text, "{", path):
        raise InputError("one JSON object is expected, with an entry for each id", where=path)
    while not expect(text, "}", path):
        position.line = 1 + text.lines
        where = f"{path}:{position.line}"
        name = next_value(text, decoder, where)
        if not isinstance(name, str) or not expect(text, ":", where):
            raise InputError("not valid JSON: a name and a colon are expected", where=where)
        if not text.skip_space():
            raise InputError("the JSON object has no end: the file is cut short", where=where)
        value = next_value(text, decoder, where)
        yield name, value if isinstance(value, dict) else not_an_object(value)
    if text.skip_space():
        raise InputError("not valid JSON: text follows the end of the object", where=path)


def expect(text: Window, mark: str, where: str) -> bool:
    """Go past a mark and the white space before it; False where another character stands.

    Raises:
        InputError: the file ends before.
    """
    if not text.skip_space():
        raise InputError("the JSON object has no end: the file is cut short", where=where)
    if text.ahead != mark:
        return False
    text.advance(1)
    return True

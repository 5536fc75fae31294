"""Reads the elements of the list ``items`` of JSON objects that are too large for the memory.

Crossref's public data file has some thousand works in each such object. Memory is bounded by the longest element.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.json_entries import expect
from cocite.corpus.importers.json_values import Window, next_value, not_an_object
from cocite.corpus.records import Malformed
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

_BEGIN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"items"\s*:\s*\[')
_HEAD = 1 << 12
"""Bytes at a file's beginning that show whether it is such an object."""


def has_items(file: Path) -> bool:
    """Whether a file begins with an object whose first field is a list ``items``."""
    with InputFile(file) as stream:
        return bool(_BEGIN.match(stream.read(_HEAD)))


def json_items(
    stream: InputFile, position: SourcePosition, decoder: json.JSONDecoder | None = None
) -> Iterator[dict[str, Any] | Malformed]:
    """The elements of ``items`` of one object, or of several that follow each other; other fields are skipped.

    ``position.line`` is the line that the last element begins in. An element that is not a JSON object is
    :class:`Malformed`.

    Raises:
        InputError: the file is not valid JSON: what follows cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.files import InputFile
        >>> from cocite.corpus.importers.json_items import json_items
        >>> from cocite.corpus.streams import SourcePosition
        >>> _ = Path("0.json").write_text('{"items": [{"DOI": "10.1/a"}, {"DOI": "10.1/b"}], "total": 2}')
        >>> with InputFile(Path("0.json")) as stream:
        ...     list(json_items(stream, SourcePosition()))
        [{'DOI': '10.1/a'}, {'DOI': '10.1/b'}]
    """
    decoder = decoder or json.JSONDecoder()
    text = Window(stream)
    path = str(stream.path)
    while text.skip_space():
        if not expect(text, "{", path):
            raise InputError("not valid JSON: an object with a list `items` is expected", where=path)
        while not expect(text, "}", path):
            where = f"{path}:{1 + text.lines}"
            name = next_value(text, decoder, where)
            if not isinstance(name, str) or not expect(text, ":", where):
                raise InputError("not valid JSON: a name and a colon are expected", where=where)
            if not text.skip_space():
                raise InputError("the JSON object has no end: the file is cut short", where=where)
            if name != "items" or text.ahead != "[":
                next_value(text, decoder, where)
                continue
            text.advance(1)
            while not expect(text, "]", where):
                position.line = 1 + text.lines
                value = next_value(text, decoder, f"{path}:{position.line}")
                yield value if isinstance(value, dict) else not_an_object(value)

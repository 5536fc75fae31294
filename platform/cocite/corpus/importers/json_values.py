"""Reads JSON objects from a file: one a line, or the elements of an array, or documents over several lines.

The form follows from the first line. Memory is bounded: by the longest line, element or document, never by the file.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.files import InputFile
from cocite.corpus.records import Malformed
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

MAX_LINE = 64 << 20
"""Bytes of the longest line, element or document read; a full text takes a few millions."""
CHUNK = 1 << 20
"""Bytes of an array or a document read at a time, at least."""
_SPACE = re.compile(r"[\s,]*")
_BOM = codecs.BOM_UTF8


def json_values(
    stream: InputFile,
    position: SourcePosition,
    decoder: json.JSONDecoder | None = None,
    size: int | None = None,
    within: bool = False,
) -> Iterator[dict[str, Any] | Malformed]:
    """The objects of a file; ``position.line`` is the line that the last one begins in.

    A line that is not a JSON object is :class:`Malformed`, and so is an element of an array that is not one.

    Args:
        stream: the file.
        position: its line is set.
        decoder: of JSON.
        size: bytes after which no further line is begun; None: the file's.
        within: the stream stands within a file of lines, not at its beginning.

    Raises:
        InputError: an array, or a document over several lines, is not valid JSON: what follows cannot be read.
    """
    decoder = decoder or json.JSONDecoder()
    position.line = 0
    has_begun = within
    left = sys.maxsize if size is None else size
    while left > 0 and (head := stream.readline(CHUNK)):
        left -= len(head)
        position.line += 1
        if not has_begun and head.strip(_BOM + b" \t\r\n"):
            has_begun = True
            if _is_document(head, decoder):
                yield from _documents(stream, head, position, decoder)
                return
        line = head
        if len(head) == CHUNK and not head.endswith(b"\n"):
            rest = stream.readline(MAX_LINE - CHUNK)
            left -= len(rest)
            line += rest
            if is_too_long(line):
                while (rest := stream.readline(CHUNK)) and not rest.endswith(b"\n"):
                    left -= len(rest)
                left -= len(rest)
                yield too_long_line()
                continue
        if not line.isspace():
            yield parse(line, decoder)


def is_too_long(line: bytes) -> bool:
    """Whether a line, or its first bytes, is longer than ``MAX_LINE``."""
    return len(line) > MAX_LINE or (len(line) == MAX_LINE and not line.endswith(b"\n"))


def too_long_line() -> Malformed:
    """The report of such a line."""
    return Malformed(f"the line is longer than {MAX_LINE >> 20} MiB")


def parse(line: bytes, decoder: json.JSONDecoder) -> dict[str, Any] | Malformed:
    """One line of JSON. Bytes that are not UTF-8 become lone surrogates, which the Unicode rule finds later."""
    if line.startswith(b"{") and line.endswith(b"}\n"):
        # The common case: the scanner, which is C, alone, without looking for white space and byte order marks.
        try:
            text = line.decode()
            value, end = decoder.scan_once(text, 0)  # type: ignore[attr-defined]
        except (ValueError, RecursionError, StopIteration):
            pass
        else:
            if end == len(text) - 1:
                return value  # type: ignore[no-any-return]
    text = line.decode("utf-8-sig", "surrogateescape")
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        return Malformed(f"not valid JSON: {error or 'too deep'}", excerpt=text[:200])
    return value if isinstance(value, dict) else not_an_object(value)


def is_document(file: Path, decoder: json.JSONDecoder) -> bool:
    """Whether a file is an array, or documents over several lines: such a file is read from its beginning only."""
    with InputFile(file) as stream:
        while head := stream.readline(CHUNK):
            if head.strip(_BOM + b" \t\r\n"):
                return _is_document(head, decoder)
    return False


def not_an_object(value: Any) -> Malformed:
    """The report of such a value."""
    return Malformed(
        f"a JSON object is expected, not {type(value).__name__}", excerpt=json.dumps(value)[:200]
    )


def _is_document(line: bytes, decoder: json.JSONDecoder) -> bool:
    """Whether a file's first line begins an array, or an object that ends in a later line."""
    text = line.decode("utf-8-sig", "surrogateescape").strip()
    if text.startswith("["):
        return True
    return (
        text.startswith("{")
        and text.endswith(("{", "[", ","))
        and isinstance(parse(line, decoder), Malformed)
    )


def _documents(
    stream: InputFile, head: bytes, position: SourcePosition, decoder: json.JSONDecoder
) -> Iterator[dict[str, Any] | Malformed]:
    """The objects of JSON documents that follow each other; those of an array are given one by one."""
    text = Window(stream, head)
    first = position.line
    in_array = False
    while text.skip_space():
        position.line = first + text.lines
        if text.ahead == ("]" if in_array else "["):
            in_array = not in_array
            text.advance(1)
            continue
        value = next_value(text, decoder, f"{stream.path}:{position.line}")
        yield value if isinstance(value, dict) else not_an_object(value)
    if in_array:
        raise InputError("the JSON array has no end: the file is cut short", where=str(stream.path))


def next_value(text: Window, decoder: json.JSONDecoder, where: str) -> Any:
    """The value that the window begins with; more is read until it is whole."""
    while True:
        try:
            value, end = decoder.raw_decode(text.text, text.at)
        except (ValueError, RecursionError) as error:
            # AMiner published version 13 of its citation network as MongoDB's shell prints it.
            is_shell = text.text.startswith("NumberInt(", getattr(error, "pos", 0))
            if isinstance(error, ValueError) and not is_shell and text.size < MAX_LINE and text.read_more():
                continue
            reason = getattr(error, "msg", None) or str(error) or "too deep"
            raise InputError(
                "not JSON but what MongoDB's shell prints" if is_shell else f"not valid JSON: {reason}",
                where=where,
                hint=r"sed -E 's/NumberInt\((-?[0-9]+)\)/\1/g' FILE > NEW.json" if is_shell else None,
            ) from error
        # A number at the end of what is read may go on.
        if end < len(text.text) or isinstance(value, dict | list) or not text.read_more():
            text.advance(end - text.at)
            return value


class Window:
    """A part of a file's text, from ``at`` on; what is before it is dropped when more is read.

    Args:
        stream: the file.
        head: what was read of it before.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.files import InputFile
        >>> from cocite.corpus.importers.json_values import Window, next_value
        >>> _ = Path("two.json").write_text('{"id": 1}\\n[2]')
        >>> with InputFile(Path("two.json")) as stream:
        ...     text = Window(stream)
        ...     while text.skip_space():
        ...         print(text.lines, next_value(text, json.JSONDecoder(), "two.json"))
        0 {'id': 1}
        1 [2]
    """

    def __init__(self, stream: InputFile, head: bytes = b"") -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self.text = self._decode(head)
        self.at = 0
        self.lines = 0
        """Ends of lines before ``at``."""

    @property
    def ahead(self) -> str:
        """The character at the window's beginning."""
        return self.text[self.at]

    @property
    def size(self) -> int:
        """Characters in the window."""
        return len(self.text) - self.at

    def advance(self, count: int) -> None:
        """Move the beginning."""
        self.lines += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def read_more(self) -> bool:
        """Make the window twice as large, or at least by a chunk; False at the end of the file."""
        piece = self._stream.read(max(CHUNK, self.size))
        self.text, self.at = self.text[self.at :] + self._decode(piece, not piece), 0
        return bool(piece)

    def skip_space(self) -> bool:
        """Go past white space and commas; False at the end of the file."""
        while True:
            space = _SPACE.match(self.text, self.at)
            assert space is not None
            self.advance(space.end() - self.at)
            if self.size:
                return True
            if not self.read_more():
                return False

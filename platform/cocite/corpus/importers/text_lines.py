"""Lines of text files, of bounded length, whatever their encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cocite.corpus.importers.files import InputFile
from cocite.corpus.records import Malformed
from cocite.errors import InputError

MAX_LINE = 1 << 24
"""Bytes of the longest line that is read."""
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_WINDOWS_1252 = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "surrogateescape") for byte in range(0x80, 0x100)
}
"""Lone surrogate of a byte that is not UTF-8 -> its character in Windows-1252, the encoding of most such files."""


def text_lines(stream: InputFile) -> Iterator[str]:
    """The lines of a file with their ends; bytes that are not UTF-8 become lone surrogates.

    Raises:
        InputError: a line is longer than any line of records.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("names.txt").write_bytes(b"Zo\\xc3\\xab\\r\\nZo\\xeb")
        >>> with InputFile(Path("names.txt")) as stream:
        ...     [in_utf8(line)[0] for line in text_lines(stream)]
        ['Zoë\\r\\n', 'Zoë']
    """
    number = 0
    while line := stream.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            raise InputError(
                f"the line has more than {MAX_LINE >> 20} MiB",
                where=f"{stream.path}:{number}",
                hint="look at it",
            )
        text = line.decode("utf-8", "surrogateescape")
        yield text.removeprefix("\ufeff") if number == 1 else text


def in_utf8(text: str) -> tuple[str, Malformed | None]:
    """A text without lone surrogates, and what to report where it had some."""
    if not _NOT_UTF8.search(text):
        return text, None
    hit = Malformed("bytes that are not UTF-8 were read as Windows-1252", rule="not_utf8")
    return text.translate(_WINDOWS_1252), hit

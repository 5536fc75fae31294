"""What one file may ask of the process that reads it: bytes, pages and time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

from cocite.errors import InputError

MAX_FILE_BYTES = 32 << 20
"""Bytes of a PDF, which holds its pictures."""
MAX_TEXT_BYTES = 2 << 20
"""Bytes of its text; a thesis has about one Mi."""
MAX_PAGES = 400
"""Pages of a PDF."""
MAX_PAGE_BYTES = 4 << 20
"""Bytes of what a page of a PDF draws, unpacked."""
MAX_LINES = 50_000
"""Lines of a PDF, each of which may be a paragraph."""
MAX_SECONDS = 30.0
"""Time that the reading of a file may take."""
HINT = "leave it out, or import its text in another form"
"""What to do with a PDF that takes too much."""


@dataclass(slots=True)
class ReadingBudget:
    """Counts what the reading of one file takes, and ends it where it takes too much.

    Attributes:
        where: name of the file, for errors.
        seconds: that the reading may take.
        bytes: of text that were read so far.
        begin: of the reading, as of ``time.monotonic``.

    Example:
        >>> budget = ReadingBudget("paper.pdf")
        >>> budget.read(1_000)
        >>> budget.read(MAX_TEXT_BYTES)
        Traceback (most recent call last):
        cocite.errors.InputError: paper.pdf: the PDF has more than 2 MiB of text (leave it out, or import its text in
            another form)
    """

    noun: ClassVar[str] = "the PDF"
    hint: ClassVar[str] = HINT
    where: str
    seconds: float = MAX_SECONDS
    bytes: int = 0
    begin: float = field(default_factory=time.monotonic)

    def read(self, count: int) -> None:
        """Count bytes of text."""
        self.bytes += count
        if self.bytes > MAX_TEXT_BYTES:
            raise InputError(
                f"{self.noun} has more than {MAX_TEXT_BYTES >> 20} MiB of text",
                where=self.where,
                hint=self.hint,
            )

    def check_time(self) -> None:
        """Refuse a file whose reading takes too long."""
        if time.monotonic() - self.begin > self.seconds:
            raise InputError(
                f"reading {self.noun} takes more than {self.seconds:g} s", where=self.where, hint=self.hint
            )

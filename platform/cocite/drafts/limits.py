"""What a draft may ask of the machine that reads it: bytes, files, depth, steps and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cocite.corpus.articles.limits import ReadingBudget
from cocite.errors import InputError

MAX_BYTES = 2 << 20
"""Bytes of all files of a draft together; a thesis has about one Mi."""
MAX_PARAGRAPH = 100_000
"""Characters of one paragraph."""
MAX_LINES = 50_000
"""Lines of a draft in Markdown, whose parser keeps all of it in memory as tokens."""
MAX_FILES = 200
"""Files that a LaTeX project may input."""
MAX_DEPTH = 20
"""Files that input one another, the draft itself included."""
MAX_STEPS = 500_000
"""Pieces of LaTeX read, those that macros expand to included."""
MAX_EXPANSION = 40
"""Macros that expand within one another."""
MAX_GAPS = 500
"""Gaps of a draft."""
MAX_SECONDS = 30.0
"""Time that the reading of a draft may take."""
MAX_BINARY_BYTES = 32 << 20
"""Bytes of a .docx or .pdf file, which holds its pictures."""
MAX_BIB_BYTES = 32 << 20
"""Bytes of a .bib file."""
MAX_XML = 12 << 20
"""Bytes of those parts that are XML, which take some fifty times as much memory once parsed."""
MAX_UNPACKED = 64 << 20
"""Bytes of a .docx file's parts, unpacked."""
MAX_FIELD = 1 << 20
"""Characters of a field of a .docx file that cites; Zotero writes the abstracts of what is cited into it."""
MAX_FIELDS = 10_000
"""Fields of a .docx file that cite."""
MAX_CITED = 2_000
"""Papers that the fields of a .docx file cite; a long thesis cites half of that."""
MAX_ARCHIVE_BYTES = 64 << 20
"""Bytes of a .zip, which holds a project's pictures."""
MAX_ENTRIES = 2_000
"""Files of a .zip."""
MAX_UNPACKED_TEXT = 16 << 20
"""Bytes of a .zip's text files, unpacked."""
MAX_REPACKED = 256 << 20
"""Bytes of all files of a .zip that is written again, unpacked."""


@dataclass(slots=True)
class Budget(ReadingBudget):
    """Counts what the reading of one draft takes, and ends it where it takes too much.

    Attributes:
        steps: pieces of LaTeX that were read so far.

    Example:
        >>> budget = Budget("paper.tex")
        >>> budget.read(1_000)
        >>> budget.read(MAX_BYTES)
        Traceback (most recent call last):
        cocite.errors.InputError: paper.tex: the draft has more than 2 MiB (leave out what is not text)
    """

    noun: ClassVar[str] = "the draft"
    hint: ClassVar[str] = "shorten it"
    steps: int = 0

    def read(self, count: int) -> None:
        """Count bytes of a file."""
        self.bytes += count
        if self.bytes > MAX_BYTES:
            raise InputError(
                f"the draft has more than {MAX_BYTES >> 20} MiB",
                where=self.where,
                hint="leave out what is not text",
            )

    def step(self) -> None:
        """Count a piece of LaTeX."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise InputError(
                f"the draft has more than {MAX_STEPS:,} pieces, those that macros expand to included",
                where=self.where,
                hint="divide it, or leave out the macro that repeats itself",
            )
        if not self.steps % 1024:
            self.check_time()

"""Reads the lines of a PDF's pages by pypdf, and what the file says about itself."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, WrongPasswordError

from cocite.corpus.articles.headings import TITLE_CHARS
from cocite.corpus.articles.layout import PDFPages
from cocite.corpus.articles.limits import MAX_PAGE_BYTES, MAX_PAGES, ReadingBudget
from cocite.errors import InputError

_LIGATURES = {
    ord(sign): letters
    for sign, letters in zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)
}
_UNREADABLE = "is no .pdf that can be read"
_DATE = re.compile(r"(?:D:)?((?:19|20)\d\d)")


def read_pages(data: bytes, name: str, *, budget: ReadingBudget) -> PDFPages:
    """Read the lines of a PDF.

    Raises:
        InputError: the file is no PDF, is encrypted, has no text, or takes more than the limits allow.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its messages would hold text of the file
    try:
        pages = _pages(data, name, budget)
    except (FileNotDecryptedError, WrongPasswordError, DependencyError) as error:
        raise InputError("is encrypted", where=name, hint="save it without a password") from error
    except (InputError, MemoryError):
        raise
    except Exception as error:
        # The library fails in many ways where a file is damaged.
        raise InputError(_UNREADABLE, where=name, hint="make it anew, or use its source") from error
    if not any(pages.lines):
        raise InputError(
            "has no text, as a scan has none", where=name, hint="recognise its text first, or use its source"
        )
    return pages


def _pages(data: bytes, name: str, budget: ReadingBudget) -> PDFPages:
    reader = PdfReader(io.BytesIO(data))
    if len(reader.pages) > MAX_PAGES:
        raise InputError(
            f"has {len(reader.pages):,} pages, more than {MAX_PAGES}", where=name, hint="divide it"
        )
    found = PDFPages()
    pages = found.lines
    steps = 0

    def step(*_: Any) -> None:
        # Not counted as pieces of LaTeX are: a single plot may draw more lines than a draft has words.
        nonlocal steps
        steps += 1
        if not steps % 1024:
            budget.check_time()

    for page in reader.pages:
        budget.check_time()
        contents = page.get_contents()
        if contents is not None and len(contents.get_data()) > MAX_PAGE_BYTES:
            raise InputError(
                f"page {len(pages) + 1} has more than {MAX_PAGE_BYTES >> 20} MiB of drawing",
                where=name,
                hint="leave out its pictures, or use its source",
            )
        sizes: list[tuple[float, str]] = []

        def sized(
            text: str, _: Any, matrix: Sequence[float], __: Any, size: float, sizes: Any = sizes
        ) -> None:
            sizes.append((round(abs(matrix[3]) * size, 1), text))

        text = page.extract_text(visitor_operand_before=step, visitor_text=None if pages else sized)
        budget.read(len(text.encode(errors="replace")))
        if not pages:
            found.title = _title(sizes)
        pages.append([line for part in clean(text).splitlines() if (line := " ".join(part.split()))])
    found.named, found.created = _metadata(reader)
    return found


def clean(text: str) -> str:
    """A text without ligatures, and without lone surrogates, which a broken font gives."""
    return text.translate(_LIGATURES).encode("utf-8", "replace").decode()


def _title(sizes: Sequence[tuple[float, str]]) -> str:
    """What stands in the largest letters, where these are larger than most; "" where nothing does."""
    letters: Counter[float] = Counter()
    for size, text in sizes:
        letters[size] += sum(c.isalpha() for c in text)
    usual = max(letters, key=lambda size: letters[size], default=0.0)
    large = [size for size, count in letters.items() if count >= 8 and size > 1.15 * usual]
    if not large:
        return ""
    title = " ".join(" ".join(text for size, text in sizes if size == max(large)).split())
    return clean(title) if len(title) <= TITLE_CHARS else ""


def _metadata(reader: PdfReader) -> tuple[str, int]:
    """Title and year; what cannot be read of them is left out, as the text counts more."""
    try:
        entries: Mapping[str, Any] = reader.metadata or {}
        title, created = str(entries.get("/Title") or ""), str(entries.get("/CreationDate") or "")
    except MemoryError:
        raise
    except Exception:
        return "", 0
    title = " ".join(clean(title.replace("\0", "")).split())
    year = _DATE.match(created.strip())
    return (title if len(title) <= TITLE_CHARS else ""), int(year[1]) if year else 0

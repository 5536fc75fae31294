"""Reads the text of .pdf files: lines put together to paragraphs, with words mended that the end of a line divides.

A PDF says where letters stand, and not what is a paragraph, so that these are found by the lengths of lines.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, WrongPasswordError

from cocite.drafts.blocks import Block, BlockBuilder, Mark, assemble, is_references_heading, text_gaps
from cocite.drafts.draft import Draft, Place
from cocite.drafts.limits import MAX_PAGE_BYTES, MAX_PAGES, Budget
from cocite.drafts.plain_text import TITLE_CHARS, is_abstract_heading, is_heading, title_and_start
from cocite.errors import InputError

_LONG = 4_000
"""Characters after which a paragraph ends at the next end of a sentence."""
_SHORT = 0.8
"""Share of a usual line's length below which a line that ends a sentence ends its paragraph."""
_HEADING = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.?)\s+[A-Z][^.]{0,70}")
_LIGATURES = {
    ord(sign): letters
    for sign, letters in zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)
}
_ENDS = (".", "?", "!", ":", ".)", ".”", '."')
_UNREADABLE = "is no .pdf that can be read"


def read_pdf(data: bytes, name: str, *, budget: Budget) -> Draft:
    """Read a draft in .pdf.

    What is set in the largest letters of the first page is the title. Lines that several pages begin or end with, and
    numbers of pages, are left out. Places count pages, from 1.

    Raises:
        InputError: the file is no .pdf, is encrypted, has no text, or takes more than the limits allow.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its messages would hold text of the draft
    try:
        pages, title = _pages(data, name, budget)
    except (FileNotDecryptedError, WrongPasswordError, DependencyError) as error:
        raise InputError("is encrypted", where=name, hint="save it without a password") from error
    except (InputError, MemoryError):
        raise
    except Exception as error:
        # The library fails in many ways where a file is damaged.
        raise InputError(_UNREADABLE, where=name, hint="make it anew, or use its source") from error
    if not any(pages):
        raise InputError(
            "has no text, as a scan has none", where=name, hint="recognise its text first, or use its source"
        )
    lines = list(_without_margins(pages))
    if not title:
        title = title_and_start("\n".join(line for _, line in lines[:3]))[0]
    return assemble(_blocks(lines, title, name), kind="pdf", file=name, title=title, budget=budget)


def _pages(data: bytes, name: str, budget: Budget) -> tuple[list[list[str]], str]:
    """The lines of each page, and the title."""
    reader = PdfReader(io.BytesIO(data))
    if len(reader.pages) > MAX_PAGES:
        raise InputError(
            f"has {len(reader.pages):,} pages, more than {MAX_PAGES}", where=name, hint="divide it"
        )
    pages: list[list[str]] = []
    title = ""
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
        # Lone surrogates, which a broken font gives, are no text.
        text = text.translate(_LIGATURES).encode("utf-8", "replace").decode()
        if not pages:
            title = _title(sizes)
        pages.append([line for part in text.splitlines() if (line := " ".join(part.split()))])
    return pages, title


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
    return title.translate(_LIGATURES) if len(title) <= TITLE_CHARS else ""


def _without_margins(pages: Sequence[Sequence[str]]) -> Iterator[tuple[int, str]]:
    """The number of its page, and each line, without what repeats at the edges of pages."""
    edges = Counter(re.sub(r"\d+", "", line) for page in pages for line in {*page[:1], *page[-1:]})
    for number, page in enumerate(pages, 1):
        for at, line in enumerate(page):
            bare = re.sub(r"\d+", "", line)
            if at in (0, len(page) - 1) and (not bare.strip(" -–|/") or edges[bare] >= 3):
                continue
            yield number, line


def _blocks(lines: Sequence[tuple[int, str]], title: str, name: str) -> list[Block]:
    """The paragraphs and headings that lines make."""
    builder = BlockBuilder(name)
    below_abstract = False
    at = 0
    while at < len(lines) and lines[at][1] in title:
        at += 1
    lengths = sorted(len(line) for _, line in lines)
    usual = lengths[int(0.8 * len(lengths))] if lengths else 0
    paragraph, page = "", 1

    def end(kind: Literal["paragraph", "heading"] = "paragraph") -> None:
        nonlocal paragraph, below_abstract
        if paragraph:
            _add(builder, paragraph, name, page)
            builder.end(
                "abstract" if kind == "paragraph" and below_abstract else kind, int(kind == "heading")
            )
            paragraph = ""

    for index in range(at, len(lines)):
        number, line = lines[index]
        following = lines[index + 1][1] if index + 1 < len(lines) else ""
        is_own = is_abstract_heading(line) or is_references_heading(line)
        if is_own or _is_heading(line, paragraph, following):
            end()
            below_abstract = is_abstract_heading(line)
            paragraph, page = ("" if below_abstract else line), number
            end("heading")
            continue
        if not paragraph:
            page = number
        paragraph = _joined(paragraph, line)
        is_last = line.endswith(_ENDS) and (len(line) < _SHORT * usual or len(paragraph) > _LONG)
        if is_last or len(paragraph) > 4 * _LONG:
            end()
    end()
    return builder.blocks


def _is_heading(line: str, before: str, following: str) -> bool:
    """Whether a line is a numbered heading, between paragraphs."""
    between = not before or before.endswith(_ENDS)
    return between and bool(_HEADING.fullmatch(line)) and is_heading(line) and not following[:1].islower()


def _joined(before: str, line: str) -> str:
    """A paragraph and its next line; a word that the end of the line divided is one again.

    A word that has a hyphen already, such as *state-of-the-*, keeps that at the end of the line.
    """
    if before.endswith("\u00ad"):
        return before[:-1] + line
    if re.search(r"[^\W\d_]-$", before) and line[:1].islower():
        word = before.rpartition(" ")[2]
        return (before if "-" in word[:-1] else before[:-1]) + line
    return f"{before} {line}" if before else line


def _add(builder: BlockBuilder, text: str, name: str, page: int) -> None:
    builder.line = page
    at = 0
    for match in text_gaps(text):
        builder.text(text[at : match.start()])
        builder.mark(Mark(Place(name, page, match.start(), match.end()), is_gap=True))
        at = match.end()
    builder.text(text[at:])

"""Reads .docx files of Word and others: paragraphs, tables, equations, footnotes and endnotes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn

from cocite.corpus.articles.headings import is_abstract_heading
from cocite.drafts.blocks import BlockBuilder, Mark, assemble, text_gaps
from cocite.drafts.draft import Draft, Place
from cocite.drafts.limits import MAX_BINARY_BYTES, MAX_UNPACKED, MAX_XML, Budget
from cocite.drafts.plain_text import is_heading, title_and_start
from cocite.errors import InputError

_PARTS = 5_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The beginning of files that Word wrote before 2007, and writes around a document with a password."""
_M_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_W = nsmap["w"]
_NOTES = {f"{{{_W}}}footnoteReference": "footnotes", f"{{{_W}}}endnoteReference": "endnotes"}
_APART = frozenset({qn("w:p"), qn("w:del"), qn("w:moveFrom"), _FALLBACK})
"""Elements within a paragraph that are no text of it: other paragraphs, and what was deleted."""


def read_docx(data: bytes, name: str, *, budget: Budget) -> Draft:
    """Read a draft in .docx.

    The paragraph of the style *Title* is the title, those of the styles *Heading 1* and so on are headings.
    Places count paragraphs, from 1.

    Raises:
        InputError: the file is no .docx, has no text, or unpacks to more than the limits allow.
    """
    _check(data, name)
    try:
        document: Any = Document(io.BytesIO(data))
        notes = _notes(document)
        paragraphs = [
            (_style(document, element), *_text(element))
            for element in document.element.body.iter(qn("w:p"))
            if next(element.iterancestors(_FALLBACK), None) is None
        ]
    except MemoryError:
        raise
    except Exception as error:
        # The library fails in many ways where parts are missing or are no XML.
        raise InputError("is no .docx that can be read", where=name, hint="save it anew in Word") from error
    builder = BlockBuilder(name)
    title, below_abstract = "", False
    for number, (style, text, references) in enumerate(paragraphs, 1):
        budget.step()
        budget.read(len(text))
        builder.line = number
        if style == "title" or (number == 1 and not title and not style and title_and_start(text)[0]):
            title = title or text
            continue
        heading = re.match(r"heading (\d)", style)
        if is_abstract_heading(text):
            below_abstract = True
            continue
        _add(builder, text, name, number)
        if heading or (not style and is_heading(text)):
            below_abstract = False
            builder.end("heading", int(heading[1]) if heading else 1)
        else:
            builder.end("abstract" if below_abstract or style == "abstract" else "paragraph")
        for reference in references:
            _add(builder, notes.get(reference, ""), name, number)
            builder.end("footnote")
    return assemble(builder.blocks, kind="docx", file=name, title=title, budget=budget)


def _check(data: bytes, name: str) -> None:
    """Refuse what is no ZIP archive, or would unpack to too much; nothing is unpacked for it."""
    if len(data) > MAX_BINARY_BYTES:
        raise InputError(
            f"has more than {MAX_BINARY_BYTES >> 20} MiB", where=name, hint="leave out its pictures"
        )
    if data.startswith(_OLE):
        raise InputError(
            "is encrypted, or a .doc of before 2007", where=name, hint="save it as .docx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise InputError(
            "is no .docx: it is no ZIP archive that can be read", where=name, hint="save it anew in Word"
        ) from error
    xml = sum(part.file_size for part in parts if part.filename.endswith((".xml", ".rels")))
    # A part's stated size bounds what is unpacked of it for these two methods alone.
    methods = {part.compress_type for part in parts} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    if len(parts) > _PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED or xml > MAX_XML:
        raise InputError(
            f"unpacks to more than {MAX_UNPACKED >> 20} MiB, or {MAX_XML >> 20} MiB of text",
            where=name,
            hint="leave out its pictures, or divide it",
        )
    if not methods or any(part.flag_bits & 1 for part in parts):
        raise InputError("is encrypted, or packed in an unusual way", where=name, hint="save it anew")


def _style(document: Any, element: Any) -> str:
    """The name of a paragraph's style in lower case; "" for that of normal text."""
    identity = element.style
    if identity is None:
        return ""
    style = next((s for s in document.styles if s.style_id == identity), None)
    name = str(style.name if style is not None else identity).lower()
    return "" if name in ("normal", "body text", "first paragraph") else name


def _text(element: Any) -> tuple[str, list[tuple[str, str]]]:
    """A paragraph's text, and the (kind, id) of the notes that it refers to."""
    parts: list[str] = []
    references: list[tuple[str, str]] = []
    for child in _children(element):
        if child.tag in (qn("w:t"), _M_TEXT):
            parts.append(child.text or "")
        elif child.tag in (qn("w:tab"), qn("w:br"), qn("w:cr")):
            parts.append(" ")
        elif child.tag == qn("w:noBreakHyphen"):
            parts.append("-")
        elif child.tag in _NOTES:
            references.append((_NOTES[child.tag], child.get(qn("w:id"), "")))
    return " ".join("".join(parts).split()), references


def _children(element: Any) -> Iterator[Any]:
    """The elements of a paragraph, in order, that belong to its text; libxml2 bounds their depth."""
    for child in element:
        if child.tag not in _APART:
            yield child
            yield from _children(child)


def _notes(document: Any) -> dict[tuple[str, str], str]:
    """The text of each footnote and endnote, by its kind and id."""
    notes = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _NOTES.values() and not relation.is_external:
            for note in parse_xml(relation.target_part.blob):
                text = " ".join(_text(paragraph)[0] for paragraph in note.iter(qn("w:p")))
                notes[kind, note.get(qn("w:id"), "")] = text
    return notes


def _add(builder: BlockBuilder, text: str, name: str, number: int) -> None:
    at = 0
    for match in text_gaps(text):
        builder.text(text[at : match.start()])
        builder.mark(Mark(Place(name, number, match.start(), match.end()), is_gap=True))
        at = match.end()
    builder.text(text[at:])

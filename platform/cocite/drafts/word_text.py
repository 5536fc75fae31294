"""The text of a .docx file, with the element of each of its characters: paragraphs, tables, equations and notes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn

from cocite.drafts.limits import MAX_BINARY_BYTES, MAX_UNPACKED, MAX_XML
from cocite.drafts.plain_text import is_heading
from cocite.errors import InputError

_PARTS = 5_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The beginning of files that Word wrote before 2007, and writes around a document with a password."""
_T, _M_TEXT = qn("w:t"), f"{{{nsmap['m']}}}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_NOTES = {qn("w:footnoteReference"): "footnotes", qn("w:endnoteReference"): "endnotes"}
_APART = frozenset({qn("w:p"), qn("w:del"), qn("w:moveFrom"), _FALLBACK})
"""Elements within a paragraph that are no text of it: other paragraphs, and what was deleted."""
_SIGNS = {qn("w:tab"): " ", qn("w:br"): " ", qn("w:cr"): " ", qn("w:noBreakHyphen"): "-"}
"""Elements that stand for one character."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a paragraph, which one element holds.

    Attributes:
        element: ``w:t``, the text of an equation, or a sign such as a tab.
        start, end: characters of the paragraph's text, from 0.

    Example:
        >>> text = parse_xml(f'<w:t xmlns:w="{nsmap["w"]}">trees</w:t>')
        >>> Piece(text, 3, 8).is_text
        True
    """

    element: Any
    start: int
    end: int

    @property
    def is_text(self) -> bool:
        """Whether the characters can be others: they are of the text, and not of an equation."""
        return bool(self.element.tag != _M_TEXT)


@dataclass(frozen=True, slots=True)
class WordParagraph:
    """A paragraph of the body, or of a note.

    Attributes:
        number: of the paragraph, from 1; of a note that of the paragraph that refers to it.
        start: of its text in that of the whole file, whose paragraphs have one character between them.
        element: ``w:p``.
        text: as it is written, spaces included.
        pieces: the elements that hold the text.
        style: name of its style in lower case; "" for that of normal text.
        note: kind and id of the note that it is of, as ``footnotes 2``; "": it is of the body.

    Example:
        >>> WordParagraph(1, 0, None, " We  parse. ", (), "heading 2").heading_level
        2
    """

    number: int
    start: int
    element: Any
    text: str
    pieces: tuple[Piece, ...]
    style: str = ""
    note: str = ""

    @property
    def heading_level(self) -> int:
        """1 for the highest, by its style or, where it has none, by its form; 0: it is no heading."""
        match = re.match(r"heading (\d)", self.style)
        if match:
            return int(match[1])
        text = " ".join(self.text.split())
        return int(bool(text) and not self.style and not self.note and is_heading(text))


@dataclass(frozen=True, slots=True)
class WordFile:
    """A .docx file, opened.

    Attributes:
        document: as python-docx has it.
        paragraphs: each followed by those of the notes that it refers to.
        notes: name of a part -> its outermost element, of the footnotes and of the endnotes.

    Example:
        >>> document = Document()
        >>> _ = document.add_paragraph("We parse.")
        >>> buffer = io.BytesIO()
        >>> document.save(buffer)
        >>> [paragraph.text for paragraph in open_word(buffer.getvalue(), "a.docx").paragraphs]
        ['We parse.']
    """

    document: Any
    paragraphs: tuple[WordParagraph, ...]
    notes: dict[str, Any]

    @property
    def body(self) -> list[WordParagraph]:
        """The paragraphs that are of no note."""
        return [paragraph for paragraph in self.paragraphs if not paragraph.note]


def open_word(data: bytes, name: str) -> WordFile:
    """Open a .docx file; ``name`` is for messages.

    Raises:
        InputError: it is none, or unpacks to more than the limits allow.
    """
    _check(data, name)
    try:
        document: Any = Document(io.BytesIO(data))
        roots, notes = _notes(document)
        styles = {style.style_id: str(style.name).lower() for style in document.styles}
        paragraphs: list[WordParagraph] = []
        size = 0
        for number, element in enumerate(_body(document), 1):
            text, pieces, references = _text(element)
            paragraphs.append(
                WordParagraph(number, size, element, text, pieces, _style(styles, element.style))
            )
            size += len(text) + 1
            for reference in references:
                # A note that is referred to twice is read once: it has one place.
                for inner in notes.pop(reference, ()):
                    text, pieces, _ = _text(inner)
                    paragraphs.append(WordParagraph(number, size, inner, text, pieces, note=reference))
                    size += len(text) + 1
    except MemoryError:
        raise
    except Exception as error:
        # The library fails in many ways where parts are missing or are no XML.
        raise InputError("is no .docx that can be read", where=name, hint="save it anew in Word") from error
    return WordFile(document, tuple(paragraphs), roots)


def children(element: Any) -> Iterator[Any]:
    """The elements of a paragraph, in order, that belong to its text; libxml2 bounds their depth.

    Example:
        >>> paragraph = parse_xml(f'<w:p xmlns:w="{nsmap["w"]}"><w:r><w:t>a</w:t></w:r><w:del><w:r/></w:del></w:p>')
        >>> [child.tag.rpartition("}")[2] for child in children(paragraph)]
        ['r', 't']
    """
    for child in element:
        if child.tag not in _APART:
            yield child
            yield from children(child)


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


def _body(document: Any) -> Iterator[Any]:
    for element in document.element.body.iter(qn("w:p")):
        if next(element.iterancestors(_FALLBACK), None) is None:
            yield element


def _style(styles: dict[str, str], identity: str | None) -> str:
    """The name of a style in lower case; "" for that of normal text."""
    if identity is None:
        return ""
    name = styles.get(identity, identity.lower())
    return "" if name in ("normal", "body text", "first paragraph") else name


def _text(element: Any) -> tuple[str, tuple[Piece, ...], list[str]]:
    """A paragraph's text, the elements that hold it, and the notes that it refers to, as ``footnotes 2``."""
    parts: list[str] = []
    pieces: list[Piece] = []
    references: list[str] = []
    size = 0
    for child in children(element):
        if child.tag in _NOTES:
            references.append(f"{_NOTES[child.tag]} {child.get(qn('w:id'), '')}")
            continue
        text = (child.text or "") if child.tag in (_T, _M_TEXT) else _SIGNS.get(child.tag, "")
        if text:
            parts.append(text)
            pieces.append(Piece(child, size, size + len(text)))
            size += len(text)
    return "".join(parts), tuple(pieces), references


def _notes(document: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The outermost element of each part of notes, by the part's name, and the paragraphs of each note."""
    roots: dict[str, Any] = {}
    notes: dict[str, list[Any]] = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in _NOTES.values() and not relation.is_external:
            root = parse_xml(relation.target_part.blob)
            roots[relation.target_part.partname.membername] = root
            for note in root:
                notes[f"{kind} {note.get(qn('w:id'), '')}"] = list(note.iter(qn("w:p")))
    return roots, notes

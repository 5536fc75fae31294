"""Parts of .docx files that python-docx does not make: fields, notes, equations, sources and lists with numbers."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.sax.saxutils import escape

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
SOURCES = "http://schemas.openxmlformats.org/officeDocument/2006/bibliography"


def saved(document: Any) -> bytes:
    """The bytes of a document."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def draft_file(*paragraphs: str) -> bytes:
    """A draft with a title and some paragraphs."""
    document = Document()
    document.add_paragraph("Neural translation", style="Title")
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    return saved(document)


def add_runs(paragraph: Any, xml: str) -> None:
    """Add elements of WordprocessingML to a paragraph."""
    for element in parse_xml(f"<w:p {nsdecls('w')} {MATH}>{xml}</w:p>"):
        paragraph._p.append(element)


def field_xml(instruction: str, result: str, *, piece: int = 0) -> str:
    """A field; with ``piece`` its instruction is divided into runs of so many characters."""
    pieces = (
        [instruction[at : at + piece] for at in range(0, len(instruction), piece)] if piece else [instruction]
    )
    runs = "".join(
        f'<w:r><w:instrText xml:space="preserve">{escape(text)}</w:instrText></w:r>' for text in pieces
    )
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"/></w:r>{runs}<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        f'<w:r><w:t>{escape(result)}</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def zotero(*items: dict[str, Any]) -> str:
    """The instruction that cites items of CSL-JSON."""
    value = {"citationID": "x", "citationItems": [{"id": 1, "itemData": item} for item in items]}
    return f" ADDIN ZOTERO_ITEM CSL_CITATION {json.dumps(value)}"


def add_notes(document: Any, notes: dict[str, str], kind: str = "footnote") -> None:
    """Add a part with notes: id -> the elements of its paragraph."""
    inner = "".join(f'<w:{kind} w:id="{id_}"><w:p>{xml}</w:p></w:{kind}>' for id_, xml in notes.items())
    part = Part(
        PackURI(f"/word/{kind}s.xml"),
        f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml",
        f"<w:{kind}s {nsdecls('w')}>{inner}</w:{kind}s>".encode(),
        document.part.package,
    )
    relation = RELATIONSHIP_TYPE.FOOTNOTES if kind == "footnote" else RELATIONSHIP_TYPE.ENDNOTES
    document.part.relate_to(part, relation)


def add_sources(document: Any, xml: str) -> None:
    """Add a part with Word's sources."""
    data = f'<b:Sources xmlns:b="{SOURCES}">{xml}</b:Sources>'.encode()
    part = Part(PackURI("/customXml/item7.xml"), "application/xml", data, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.CUSTOM_XML)

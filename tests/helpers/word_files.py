"""Parts of .docx files that python-docx does not make: fields, notes, equations, sources and lists with numbers."""

from __future__ import annotations

import base64
import io
import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

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


def endnote_xml(data: str, result: str) -> str:
    """A field of EndNote whose records are in its data, and again in those of the field within it."""
    coded = base64.b64encode(data.encode()).decode()
    lines = "\n".join(coded[at : at + 76] for at in range(0, len(coded), 76))
    begin = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:fldData xml:space="preserve">'
        f"{lines}</w:fldData></w:fldChar></w:r>"
    )
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    return (
        f"{begin}<w:r><w:instrText> ADDIN EN.CITE </w:instrText></w:r>"
        f"{begin}<w:r><w:instrText> ADDIN EN.CITE.DATA </w:instrText></w:r>{end}"
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{escape(result)}</w:t></w:r>{end}'
    )


def control_xml(tag: str, content: str) -> str:
    """A content control."""
    return (
        f'<w:sdt><w:sdtPr><w:tag w:val={quoteattr(tag)}/><w:id w:val="7"/></w:sdtPr>'
        f"<w:sdtContent>{content}</w:sdtContent></w:sdt>"
    )


def mendeley_tag(*items: dict[str, Any]) -> str:
    """The tag of a control of Mendeley Cite that cites items of CSL-JSON."""
    value = {"citationID": "MENDELEY_CITATION_x", "citationItems": [{"itemData": item} for item in items]}
    return "MENDELEY_CITATION_v3_" + base64.b64encode(json.dumps(value).encode()).decode()


def bookmark_xml(name: str, text: str) -> str:
    """A bookmark around a text."""
    return f'<w:bookmarkStart w:id="3" w:name="{name}"/><w:r><w:t>{escape(text)}</w:t></w:r><w:bookmarkEnd w:id="3"/>'


def add_properties(document: Any, values: dict[str, str]) -> None:
    """Add properties of the document's own: name -> text."""
    types = "http://schemas.openxmlformats.org/officeDocument/2006"
    inner = "".join(
        f'<property fmtid="{{D5CDD505-2E9C-101B-9397-08002B2CF9AE}}" pid="{number}" name={quoteattr(name)}>'
        f"<vt:lpwstr>{escape(text)}</vt:lpwstr></property>"
        for number, (name, text) in enumerate(values.items(), 2)
    )
    data = f'<Properties xmlns="{types}/custom-properties" xmlns:vt="{types}/docPropsVTypes">{inner}</Properties>'
    kind = "application/vnd.openxmlformats-officedocument.custom-properties+xml"
    package = document.part.package
    package.relate_to(
        Part(PackURI("/docProps/custom.xml"), kind, data.encode(), package), f"{types}/custom-properties"
    )


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

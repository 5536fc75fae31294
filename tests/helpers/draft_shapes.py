"""Drafts that are no text, or that nobody would keep in a repository, written by hand: Word, PDF, archives, bombs."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from helpers.pdf_files import encrypted, pdf_file

SHAPES = Path(__file__).resolve().parent.parent / "drafts" / "shapes"
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """A .zip of files by their paths."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def overleaf() -> bytes:
    """What Overleaf's *Download source* gives, with what macOS adds when it is packed anew, and paths that lead out."""
    thesis = {
        f"thesis/{path.relative_to(SHAPES / 'thesis')}": path.read_bytes()
        for path in sorted((SHAPES / "thesis").rglob("*"))
        if path.is_file()
    }
    return zipped(
        {
            **thesis,
            "thesis/figures/model.png": b"\x89PNG\r\n\x1a\n\0",
            "__MACOSX/thesis/._thesis.tex": b"\0\5\x16\7",
            "../../outside.tex": "\\documentclass{article} Outside [CIT].",
            "/etc/absolute.tex": "\\documentclass{article} Absolute [CIT].",
        }
    )


def word() -> bytes:
    """A Word file with a footnote, an equation, a table, a link and tracked changes."""
    document = Document()
    document.add_paragraph("Negatives for dense retrieval", style="Title")
    document.add_paragraph("Introduction", style="Heading 1")
    paragraph = document.add_paragraph("Passages are retrieved by ")
    paragraph.add_run("dense vectors [C").italic = True
    paragraph.add_run("IT]")
    mine = f'{nsdecls("w")} w:id="1" w:author="Ann"'
    paragraph._p.append(
        parse_xml(f"<w:del {mine}><w:r><w:delText> and sparse ones [CIT]</w:delText></w:r></w:del>")
    )
    paragraph._p.append(parse_xml(f"<w:ins {mine}><w:r><w:t> with hard negatives [?].</w:t></w:r></w:ins>"))
    paragraph._p.append(parse_xml(f"<m:oMath {MATH}><m:r><m:t>s=q·p</m:t></m:r></m:oMath>"))
    paragraph._p.append(parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>'))
    moved = f'{nsdecls("w")} w:id="3" w:author="Bo"'
    paragraph = document.add_paragraph("")
    paragraph._p.append(parse_xml(f"<w:moveFrom {moved}><w:r><w:t>Moved [CIT].</w:t></w:r></w:moveFrom>"))
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "ColBERT"
    table.cell(0, 1).text = "late interaction (citation needed)"
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph(
        "V. Karpukhin et al. Dense passage retrieval for open-domain question answering. 2020."
    )
    note = '<w:footnote w:id="2"><w:p><w:r><w:t>Queries are expanded [CIT].</w:t></w:r></w:p></w:footnote>'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>".encode()
    part = Part(PackURI("/word/footnotes.xml"), kind, notes, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def two_columns() -> bytes:
    """A PDF of one page whose left column is drawn before its right one, as LaTeX does."""
    left = [
        "1 Introduction",
        "Items are recommended by matrix fac-",
        "torization [CIT], which decomposes the",
        "ratings that users gave to the items.",
        "Sessions are modelled by recurrent",
    ]
    right = [
        "networks [?], and graphs of users and",
        "items are convolved (citation needed).",
        "References",
        "[1] Koren, Y., Bell, R., Volinsky, C.: Matrix",
        "Factorization Techniques for Recom-",
        "mender Systems. Computer (2009)",
        "[2] Nobody: On another field (1900)",
    ]
    lines = [(50, 700 - 14 * i, line) for i, line in enumerate(left)]
    lines += [(320, 700 - 14 * i, line) for i, line in enumerate(right)]
    drawn = ["BT /F1 18 Tf 1 0 0 1 50 760 Tm (Recommending for sessions) Tj ET"]
    for x, y, line in lines:
        escaped = line.replace("(", "\\(").replace(")", "\\)")
        drawn.append(f"BT /F1 10 Tf 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET")
    return with_stream("\n".join(drawn).encode())


def with_stream(stream: bytes, filters: str = "") -> bytes:
    """A PDF of one page that draws a stream."""
    data = pdf_file([[]])
    begin, end = data.index(b"<< /Length"), data.index(b"endstream")
    head = f"<< /Length {len(stream)} {filters} >>\nstream\n".encode()
    # Without a table of places, which a reader then makes anew.
    return data[:begin] + head + stream + b"\n" + data[end:]


def pdf_bomb() -> bytes:
    """A page of 64 MiB in a file of a few kilobytes."""
    return with_stream(zlib.compress(b" " * (64 << 20), 9), "/Filter /FlateDecode")


def word_bomb() -> bytes:
    """A Word file of 1 GiB in one megabyte, by what its parts say of themselves."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "word/document.xml"):
            with archive.open(name, "w", force_zip64=True) as file:
                for _ in range(64):
                    file.write(b" " * (1 << 20))
    return buffer.getvalue()


def understated_zip() -> bytes:
    """An archive whose main file says to have 10 bytes, and has 32 MiB."""
    data = bytearray(zipped({"main.tex": b"\\documentclass{a}" + b" " * (32 << 20)}))
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 10)
    return bytes(data)


def encrypted_word() -> bytes:
    """The beginning of a Word file with a password, which is no archive but an OLE file."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2_000)


def encrypted_pdf() -> bytes:
    """A PDF with a password."""
    return encrypted(pdf_file([[(10, "Words [CIT].")]]), "secret")


DOUBLING = "".join(rf"\def\{chr(97 + i)}{{\{chr(98 + i)}\{chr(98 + i)}}}" for i in range(25))
"""Macros that expand to 2^25 words."""
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
LETTERS = (
    "Über Bayes-Klassifikation: a façade\r\n\r\nText categorization uses support vectors [CIT].\r\n\r\n"
    "References\r\n\r\nPorter, M. An algorithm for suffix stripping. Program 14.\r\n"
)
"""A text with letters that each encoding writes in its own way, and the ends of lines of Windows."""
WINDOWS = (
    "---\r\ntitle: Topics\r\n---\r\n\r\nTopics are latent variables [@?].\r\n\r\n"
    "Words have neighbours [CIT].\r\n"
)
"""Markdown whose front matter begins behind the mark of UTF-8, where an editor of Windows wrote it."""

"""Small .pdf files, written by hand: what they hold is known to the byte."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from pypdf import PdfReader, PdfWriter


def pdf_file(pages: Sequence[Sequence[tuple[int, str]]]) -> bytes:
    """A .pdf whose pages have lines of a size, in points, one below the other."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        drawn, top = [], 780
        for size, line in lines:
            escaped = line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            drawn.append(f"BT /F1 {size} Tf 1 0 0 1 50 {top} Tm ({escaped}) Tj ET")
            top -= size + 4
        stream = "\n".join(drawn)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        data
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}"
            f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
        ).encode()
    )


def encrypted(data: bytes, password: str) -> bytes:
    """The same file under a password; "": anybody can read it."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def described(data: bytes, **entries: str) -> bytes:
    """The same file with metadata, such as ``Title``."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.add_metadata({f"/{name}": value for name, value in entries.items()})
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def article_file(
    title: str,
    body: str,
    references: Sequence[str] = (),
    *,
    abstract: str = "We parse the sentences of languages whose grammars are not known to anybody yet.",
    head: str = "Ann Lee, University of Somewhere, 2020",
) -> bytes:
    """An article on as many pages as it takes, with its lines broken as a printer breaks them.

    Args:
        title: in large letters.
        body: paragraphs behind the heading of the introduction, one a line.
        references: entries of the printed list, each of which may take several lines.
        abstract: below its heading.
        head: a line below the title.
    """
    lines = [(18, line) for line in textwrap.wrap(title, 40)] + [(10, head), (10, "Abstract")]
    lines += [(10, line) for line in textwrap.wrap(abstract, 70)] + [(10, "1 Introduction")]
    for paragraph in body.split("\n"):
        lines += [(10, line) for line in textwrap.wrap(paragraph, 70)]
    if references:
        lines.append((10, "References"))
    for entry in references:
        lines += [(10, line) for line in textwrap.wrap(entry, 70)]
    return pdf_file([lines[at : at + 40] for at in range(0, len(lines), 40)])

"""TEI as GROBID writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr


def tei(
    title: str,
    *,
    ids: Mapping[str, str] | None = None,
    body: str = "",
    references: Sequence[str] = (),
) -> str:
    """A document.

    Args:
        title: of the paper.
        ids: type of an ``idno`` -> its text.
        body: the content of ``body``.
        references: the content of each ``biblStruct``, named ``b0`` and so on.
    """
    entries = "".join(
        f'<biblStruct xml:id="b{number}">{entry}</biblStruct>' for number, entry in enumerate(references)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<TEI xml:space="preserve" xmlns="http://www.tei-c.org/ns/1.0" xmlns:xlink="http://www.w3.org/1999/xlink">
<teiHeader xml:lang="en"><fileDesc>
<titleStmt><title level="a" type="main">{escape(title)}</title></titleStmt>
<sourceDesc><biblStruct>{numbers(ids or {})}</biblStruct></sourceDesc>
</fileDesc></teiHeader>
<text xml:lang="en"><body>{body}</body>
<back><div type="references"><listBibl>{entries}</listBibl></div></back></text>
</TEI>
"""


def numbers(ids: Mapping[str, str]) -> str:
    """The ``idno`` elements of a paper."""
    return "".join(f"<idno type={quoteattr(kind)}>{escape(text)}</idno>" for kind, text in ids.items())


def reference(title: str = "", **ids: str) -> str:
    """The content of a reference to an article."""
    return f'<analytic><title level="a" type="main">{escape(title)}</title>{numbers(ids)}</analytic><monogr/>'


def cite(number: int, mark: str = "[1]") -> str:
    """A citation in a body."""
    return f'<ref type="bibr" target="#b{number}">{mark}</ref>'

"""Plain text of titles and abstracts that hold JATS, HTML or MathML, as publishers send them to Crossref."""

from __future__ import annotations

import html
import re

_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?/?>")
_BLOCKS = frozenset({"p", "title", "sec", "list", "list-item", "label", "break", "br", "div", "disp-formula"})
"""Elements that begin a new line, so that the words around their tags are apart."""
_TEX = "tex-math"
"""A second form of a formula, which stands beside its MathML and is a whole LaTeX document at times."""
_HEADINGS = frozenset({"abstract", "summary", "zusammenfassung", "résumé", "resumen", "resumo"})
"""What a title above an abstract may say without being a part of it."""


def plain_text(markup: str) -> str:
    """The text of a piece of markup, in one line. The time grows with the length alone, however tags are nested.

    Example:
        >>> plain_text("<jats:title>Abstract</jats:title><jats:p>H<jats:sub>2</jats:sub>O at p &lt; 0.05</jats:p>")
        'H2O at p < 0.05'
    """
    if "<" not in markup and "&" not in markup:
        return " ".join(markup.split())
    pieces: list[str] = []
    at = heading = 0
    in_tex = False
    for tag in _TAG.finditer(markup):
        if not in_tex:
            pieces.append(markup[at : tag.start()])
        at = tag.end()
        closes, name = bool(tag[1]), tag[2].rpartition(":")[2].lower()
        if name == _TEX:
            in_tex = not closes and not tag[0].endswith("/>")
        if name == "title" and closes and "".join(pieces[heading:]).strip().casefold() in _HEADINGS:
            del pieces[heading:]
        if name in _BLOCKS:
            pieces.append(" ")
        if name == "title":
            heading = len(pieces)
    if not in_tex:
        pieces.append(markup[at:])
    return " ".join(html.unescape("".join(pieces)).split())

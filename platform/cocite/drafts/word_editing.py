"""Changes the text of a .docx file, and nothing beside it: no run, no form, no equation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.font import Font

from cocite.corpus.cleaning import repair
from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.word_text import Piece, WordParagraph, children

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_FORMS = {
    "Italic": "italic",
    "Oblique": "italic",
    "Bold": "bold",
    "Underline": "underline",
    "SmallCaps": "small_caps",
    "Superscript": "superscript",
    "Subscript": "subscript",
}
"""citeproc-py's name of a form -> python-docx's."""
_OWN = frozenset(
    map(
        qn,
        (
            "w:rStyle",
            "w:b",
            "w:bCs",
            "w:i",
            "w:iCs",
            "w:u",
            "w:caps",
            "w:smallCaps",
            "w:vertAlign",
            "w:highlight",
        ),
    )
)
"""Forms of some words, which those that follow them do not have."""
_OF_PLACE = frozenset(map(qn, ("w:sectPr", "w:pPrChange")))
"""What a paragraph's properties say of its place, and not of its form."""


def can_replace(paragraph: WordParagraph, start: int, end: int) -> bool:
    """Whether some characters of a paragraph's text are in no equation.

    Args:
        paragraph: of the file.
        start, end: characters of its text.
    """
    return all(piece.is_text for piece in _within(paragraph, start, end))


def replace_text(paragraph: WordParagraph, start: int, end: int, words: str) -> None:
    """Put words in place of some characters; they have the form of the first of these.

    Several replacements in one paragraph go from its end to its beginning.

    Args:
        paragraph: whose text is that before the first replacement.
        start, end: characters of its text, none of them in an equation; at least one is text, and no sign.
        words: without line ends.

    Example:
        >>> from docx.oxml import parse_xml
        >>> from cocite.drafts.word_text import Piece
        >>> from docx.oxml.ns import nsdecls
        >>> runs = "<w:r><w:t>as [C</w:t></w:r><w:r><w:t>IT].</w:t></w:r>"
        >>> element = parse_xml(f"<w:p {nsdecls('w')}>{runs}</w:p>")
        >>> first, second = element.iter(qn("w:t"))
        >>> paragraph = WordParagraph(1, 0, element, "as [CIT].", (Piece(first, 0, 5), Piece(second, 5, 9)))
        >>> replace_text(paragraph, 3, 8, "(Lee, 1999)")
        >>> first.text, second.text
        ('as (Lee, 1999)', '.')
    """
    rest = repair(words)[0]
    for piece in _within(paragraph, start, end):
        if piece.element.tag != qn("w:t"):
            piece.element.getparent().remove(piece.element)
            continue
        text = piece.element.text
        # A later replacement has changed what stands behind this one alone.
        from_, to = max(0, start - piece.start), end - piece.start
        _set(piece.element, text[:from_] + rest + (text[to:] if end < piece.end else ""))
        rest = ""


def new_paragraph(
    model: Any | None, reference: FormattedReference, label: str = "", *, tab: bool = False
) -> Any:
    """A paragraph with a reference, in the form of another one.

    Args:
        model: ``w:p`` whose form it has; None: that of normal text.
        reference: its text.
        label: what stands before that.
        tab: whether a tab stands between the two.
    """
    paragraph: Any = OxmlElement("w:p")
    form = None
    if model is not None:
        if model.pPr is not None:
            properties = deepcopy(model.pPr)
            for child in list(properties):
                if child.tag in _OF_PLACE:
                    properties.remove(child)
            paragraph.append(properties)
        form = _form(model)
    if label:
        _add_run(paragraph, form, label)
    if tab:
        _add_run(paragraph, form, "").append(OxmlElement("w:tab"))
    for text, names in reference.runs:
        run = _add_run(paragraph, form, text)
        for name in names & _FORMS.keys():
            setattr(Font(run), _FORMS[name], True)
    return paragraph


def _within(paragraph: WordParagraph, start: int, end: int) -> list[Piece]:
    """The pieces that hold some of these characters."""
    return [piece for piece in paragraph.pieces if piece.start < end and start < piece.end]


def _set(element: Any, text: str) -> None:
    element.text = text
    if text != text.strip():
        element.set(_SPACE, "preserve")


def _form(model: Any) -> Any | None:
    """The properties of the first run with text, without those of single words."""
    text = next((child for child in children(model) if child.tag == qn("w:t") and child.text), None)
    run = None if text is None else text.getparent()
    if run is None or run.tag != qn("w:r") or run.rPr is None:
        return None
    form = deepcopy(run.rPr)
    for child in list(form):
        if child.tag in _OWN:
            form.remove(child)
    return form


def _add_run(paragraph: Any, form: Any | None, text: str) -> Any:
    run: Any = OxmlElement("w:r")
    if form is not None:
        run.append(deepcopy(form))
    if text:
        element = OxmlElement("w:t")
        _set(element, repair(text)[0])
        run.append(element)
    paragraph.append(run)
    return run

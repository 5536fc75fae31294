"""Where a .docx file keeps what its citations cite: in fields, in the tags of content controls, behind bookmarks.

EndNote writes its records into the field, or in base64 into the field's data. Mendeley Cite has the tag
``MENDELEY_CITATION_v3_`` and its object in base64. Zotero, set to bookmarks, names one ``ZOTERO_BREF_…`` and divides
its code among properties of the document, ``ZOTERO_BREF_…_1`` and so on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from docx.oxml import parse_xml
from docx.oxml.ns import qn

from cocite.drafts.word_text import WordFile, WordParagraph, children

_MENDELEY, _ZOTERO = "MENDELEY_CITATION_v3_", "ZOTERO_BREF_"
_PIECE = re.compile(rf"({_ZOTERO}.+)_(\d{{1,6}})")
_PREFIX = re.compile(r"\s*(?:ADDIN\s+)?(?:(?:ZOTERO_)?ITEM\s+)?CSL_CITATION\s*")
CSL = "ADDIN CSL_CITATION "
"""What stands before the object of a citation, whoever wrote it."""


def citation_codes(word: WordFile) -> Iterator[tuple[WordParagraph, str]]:
    """The instruction of each field, and what controls and bookmarks hold in the same form, as they come in the text.

    Each comes with the paragraph in which it begins. What should hold an object and does not is :data:`CSL` with half
    of one.
    """
    properties = _properties(word)
    # Those of a note have nothing to do with the field that the note stands in.
    fields: dict[str, list[_Field]] = {}
    for paragraph in word.paragraphs:
        for control in _controls_around(paragraph.element):
            yield from ((paragraph, code) for code in _of_tag(control.find(f"{qn('w:sdtPr')}/{qn('w:tag')}")))
        stack = fields.setdefault(paragraph.note, [])
        for element in children(paragraph.element):
            if element.tag == qn("w:fldSimple"):
                yield paragraph, element.get(qn("w:instr"), "")
            elif element.tag == qn("w:fldChar"):
                kind = element.get(qn("w:fldCharType"))
                if kind == "begin":
                    stack.append(_Field(paragraph, element.findtext(qn("w:fldData")) or ""))
                elif stack and kind == "separate":
                    stack[-1].is_read = True
                elif stack and kind == "end":
                    field = stack.pop()
                    if stack and not stack[-1].data:
                        stack[
                            -1
                        ].data = field.data  # that of EndNote's EN.CITE.DATA is of the field around it
                    yield field.paragraph, field.code
            elif element.tag == qn("w:instrText") and stack and not stack[-1].is_read:
                stack[-1].parts.append(element.text or "")
            elif element.tag == qn("w:tag"):
                yield from ((paragraph, code) for code in _of_tag(element))
            elif element.tag == qn("w:bookmarkStart"):
                name = element.get(qn("w:name"), "")
                if name.startswith(_ZOTERO):
                    yield paragraph, CSL + _PREFIX.sub("", properties.get(name, "{"), count=1)


class _Field:
    """A field whose end has not come yet."""

    __slots__ = ("data", "is_read", "paragraph", "parts")

    def __init__(self, paragraph: WordParagraph, data: str) -> None:
        self.paragraph, self.data = paragraph, data
        self.parts: list[str] = []
        self.is_read = False

    @property
    def code(self) -> str:
        """Its instruction; of EndNote with the records that its data hold."""
        instruction = "".join(self.parts)
        if "<" in instruction or instruction.split() != ["ADDIN", "EN.CITE"]:
            return instruction
        return f"{instruction} {_decoded(self.data)}"


def _of_tag(tag: Any | None) -> Iterator[str]:
    """What the tag of a content control holds, if it is one of Mendeley Cite."""
    value = "" if tag is None else tag.get(qn("w:val"), "")
    if value.startswith(_MENDELEY):
        yield CSL + (_decoded(value[len(_MENDELEY) :]) or "{")


def _controls_around(element: Any) -> Iterator[Any]:
    """The content controls that begin with a paragraph, and do not lie within one."""
    parent = element.getparent()
    while parent is not None and parent.tag == qn("w:sdtContent") and parent[0] is element:
        element = parent.getparent()
        yield element
        parent = element.getparent()


def _properties(word: WordFile) -> Mapping[str, str]:
    """Name of a bookmark of Zotero -> its code, put together from the document's properties."""
    pieces: dict[str, dict[int, str]] = {}
    for relation in word.document.part.package.rels.values():
        if relation.reltype.rpartition("/")[2] != "custom-properties" or relation.is_external:
            continue
        # Parts of other names do not count in the limit of what is parsed.
        if not relation.target_part.partname.endswith(".xml"):
            continue
        try:
            root = parse_xml(relation.target_part.blob)
        except (ValueError, SyntaxError):  # what lxml raises is a SyntaxError
            continue
        for one in root:
            name = _PIECE.fullmatch(one.get("name") or "")
            if name:
                pieces.setdefault(name[1], {})[int(name[2])] = "".join(one.itertext())
    return {name: "".join(parts[number] for number in sorted(parts)) for name, parts in pieces.items()}


def _decoded(text: str) -> str:
    """A text in base64, with or without its end; "" where it is none."""
    letters = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
        return data.decode().rstrip("\0")
    except ValueError:
        return ""

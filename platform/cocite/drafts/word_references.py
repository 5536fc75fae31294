"""The printed list of references of a .docx file: how its entries are numbered, and where the next ones stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import qn

from cocite.corpus.articles.printed_names import plain
from cocite.corpus.articles.printed_titles import possible_titles, printed_dois
from cocite.corpus.records import PaperRecord
from cocite.drafts.blocks import references_range
from cocite.drafts.gaps import text_gaps
from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.word_editing import new_paragraph
from cocite.drafts.word_text import WordFile, WordParagraph

HEADING = "References"
"""Of a list that is made."""
_LABEL = re.compile(r"\s*(?P<open>[\[(]?)(?P<number>\d{1,4})(?P<close>[\])]?[.:]?)(?P<space>\s+)")
_NUMBERS = r"\d{1,3}(?:\s*[,–-]\s*\d{1,3})*"
_BRACKETS, _PARENTHESES = re.compile(rf"\[{_NUMBERS}\]"), re.compile(rf"\({_NUMBERS}\)")
"""Citations by number."""


@dataclass(frozen=True, slots=True)
class ReferenceList:
    """A list of references.

    Attributes:
        heading: of the list; None: the file has no list.
        entries: the paragraphs of the list.
        last: number of its last entry; 0: it has none yet; None: its entries are not numbered.
        is_automatic: whether Word numbers them.
        brackets: around a number in the text.

    Example:
        >>> ReferenceList(None, (), 11).cited(12, 14)
        '[12, 14]'
    """

    heading: WordParagraph | None
    entries: tuple[WordParagraph, ...]
    last: int | None
    is_automatic: bool = False
    brackets: str = "[]"

    @classmethod
    def of(cls, word: WordFile, *, numbered: bool) -> ReferenceList:
        """The list of a file.

        Args:
            word: the file.
            numbered: whether a list is numbered that has no entries, or is not there.
        """
        body = word.body
        lines = [(" ".join(one.text.split()), bool(one.heading_level)) for one in body]
        found = [(at, line) for at, line in enumerate(lines) if line[0] and body[at].style != "title"]
        within = references_range([line for _, line in found])
        if not within.start:
            return cls(None, (), 0 if numbered else None)
        heading = body[found[within.start - 1][0]]
        listed = [body[found[at][0]] for at in within]
        entries: list[WordParagraph] = []
        for one in listed:
            if one.style.startswith("heading"):
                break  # such as "Tables": what follows it is no reference
            first = entries[0] if entries else one
            # Neither captions nor tables behind the list are entries.
            same = one.style == first.style and one.element.getparent() is first.element.getparent()
            if same and next(text_gaps(one.text), None) is None:
                entries.append(one)
            if one.element.find(f"{qn('w:pPr')}/{qn('w:sectPr')}") is not None:
                break  # another section of the file follows
        if not entries:
            return cls(heading, (), 0 if numbered else None)
        text = "\n".join(one.text for one in body if one.start < heading.start)
        labels = [match for one in entries if (match := _LABEL.match(one.text))]
        numbers = [int(match["number"]) for match in labels]
        automatic = _automatic(word, entries)
        if automatic is not None:
            last, opened = automatic
            return cls(heading, tuple(entries), last, True, _brackets(text, opened))
        if 2 * len(labels) > len(entries) and numbers == sorted(set(numbers)):
            brackets = _brackets(text, labels[-1]["open"])
            return cls(heading, tuple(entries), numbers[-1], False, brackets)
        return cls(heading, tuple(entries), None)

    def cited(self, *numbers: int) -> str:
        """What cites the entries of some numbers."""
        return f"{self.brackets[0]}{', '.join(map(str, numbers))}{self.brackets[1]}"

    def numbers_of(self, papers: Sequence[PaperRecord]) -> dict[str, int]:
        """Id of each paper that the list has already -> the number of its entry; 0 where entries have none.

        A paper is known by its DOI, or by its whole title beside its year or the name of an author.
        """
        found: dict[str, int] = {}
        for at, entry in enumerate(self.entries):
            label = _LABEL.match(entry.text)
            if self.last is None:
                number = 0
            elif self.is_automatic:
                number = self.last - (len(self.entries) - 1 - at)
            elif label:
                number = int(label["number"])
            else:
                continue
            titles = {_letters(one.text) for one in possible_titles(entry.text)}
            dois = {one.text.lower() for one in printed_dois(entry.text)}
            words = _words(entry.text)
            for paper in papers:
                names = {words_of_name[-1] for name in paper.authors if (words_of_name := _words(name))}
                near = str(paper.year) in words or names & {*words}
                if paper.doi.lower() in dois or (_letters(paper.title) in titles and near):
                    found.setdefault(paper.id, number)
        return found

    def add(self, word: WordFile, references: list[FormattedReference]) -> None:
        """Add entries behind the last one, numbered on, in the form of that; where there is no list, make one.

        Args:
            word: the file that it is of.
            references: without numbers of their own.
        """
        if not references:
            return
        model = self.entries[-1] if self.entries else None
        element = None if model is None else model.element
        label = _LABEL.match(model.text) if model is not None and not self.is_automatic else None
        made = []
        for number, reference in enumerate(references, (self.last or 0) + 1):
            if self.last is None or self.is_automatic:
                made.append(new_paragraph(element, reference))
            elif label is None or model is None:
                made.append(new_paragraph(element, reference, f"[{number}] "))
            else:
                tab = any(
                    piece.element.tag == qn("w:tab") and label.start("space") <= piece.start < label.end()
                    for piece in model.pieces
                )
                before = f"{label['open']}{number}{label['close']}"
                made.append(new_paragraph(element, reference, before if tab else f"{before} ", tab=tab))
        if self.heading is None:
            made.insert(0, _heading(word))
            _at_end(word.document.element.body, made)
        else:
            _behind(word, model or self.heading, made)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", plain(text))


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _automatic(word: WordFile, entries: list[WordParagraph]) -> tuple[int, str] | None:
    """The last number that Word gives to entries, and what stands before it; None: it does not number them."""
    styles = {style.style_id: style.element for style in word.document.styles}
    named = [_numbering(one.element, styles) for one in entries]
    own = named[-1]
    if own is None or 2 * named.count(own) <= len(named):
        return None
    form = _level(word, *own)
    if form is None or form[0] in ("bullet", "none"):
        return None
    count = sum(_numbering(one.element, styles) == own for one in word.body if one.start <= entries[-1].start)
    return form[1] + count - 1, form[2].strip()[:1]


def _numbering(paragraph: Any, styles: dict[str, Any]) -> tuple[str, str] | None:
    """The number and the level of the list that a paragraph, or else its style, belongs to."""
    element, seen = paragraph, set()
    identity = paragraph.style
    while element is not None:
        numbering = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
        if numbering is not None and (number := numbering.find(qn("w:numId"))) is not None:
            level = numbering.find(qn("w:ilvl"))
            value = number.get(qn("w:val"), "0")
            return None if value == "0" else (value, "0" if level is None else level.get(qn("w:val"), "0"))
        if identity is None or identity in seen:
            return None
        seen.add(identity)
        element = styles.get(identity)
        based = None if element is None else element.find(qn("w:basedOn"))
        identity = None if based is None else based.get(qn("w:val"))
    return None


def _level(word: WordFile, number: str, level: str) -> tuple[str, int, str] | None:
    """The form of a level of a list: kind of its numbers, the first one, and the text around it."""
    part = next(
        (
            relation.target_part
            for relation in word.document.part.rels.values()
            if relation.reltype.endswith("/numbering") and not relation.is_external
        ),
        None,
    )
    if part is None:
        return None
    root = parse_xml(part.blob)
    val = qn("w:val")
    num = next((one for one in root.iter(qn("w:num")) if one.get(qn("w:numId")) == number), None)
    abstract = None if num is None else num.find(qn("w:abstractNumId"))
    if abstract is None:
        return None
    for one in root.iter(qn("w:abstractNum")):
        if one.get(qn("w:abstractNumId")) != abstract.get(val):
            continue
        for form in one.iter(qn("w:lvl")):
            if form.get(qn("w:ilvl")) == level:
                kind, start, text = (form.find(qn(name)) for name in ("w:numFmt", "w:start", "w:lvlText"))
                first = "1" if start is None else start.get(val, "1")
                return (
                    "decimal" if kind is None else kind.get(val, "decimal"),
                    int(first) if first.isascii() and first.isdigit() and len(first) < 10 else 1,
                    "" if text is None else text.get(val, ""),
                )
    return None


def _brackets(text: str, opened: str) -> str:
    """What stands around numbers in the text: parentheses where the list has them and the text nothing else."""
    is_round = opened == "(" and _PARENTHESES.search(text) and not _BRACKETS.search(text)
    return "()" if is_round else "[]"


def _heading(word: WordFile) -> Any:
    """A heading in the form of the file's first of the highest level, else in that of the style, else in bold."""
    reference = FormattedReference(HEADING)
    for paragraph in word.body:
        if paragraph.style == "heading 1":
            return new_paragraph(paragraph.element, reference)
    made = new_paragraph(None, reference)
    style = next((one for one in word.document.styles if str(one.name).lower() == "heading 1"), None)
    if style is not None:
        made.style = style.style_id
        return made
    made.r_lst[0].get_or_add_rPr().append(OxmlElement("w:b"))
    return made


def _at_end(body: Any, made: list[Any]) -> None:
    """Add paragraphs behind all others; the properties of the last section stay behind them."""
    last = body.find(qn("w:sectPr"))
    for one in made:
        if last is None:
            body.append(one)
        else:
            last.addprevious(one)


def _behind(word: WordFile, paragraph: WordParagraph, made: list[Any]) -> None:
    """Add paragraphs behind another, and behind the field of which it is a part: a refresh empties that."""
    element = paragraph.element
    depth = 0
    for one in word.body:
        for mark in one.element.iter(qn("w:fldChar")):
            kind = mark.get(qn("w:fldCharType"))
            depth = max(0, depth + {"begin": 1, "end": -1}.get(kind, 0))
        if one.start >= paragraph.start and depth == 0:
            element = one.element
            break
    while element.getparent().tag == qn("w:sdtContent"):
        element = element.getparent().getparent()
    if element.tag == qn("w:p") and element.pPr is not None:
        section = element.pPr.find(qn("w:sectPr"))
        if section is not None:
            # It ends the section, and does so behind the new paragraphs too.
            properties = made[-1].get_or_add_pPr()
            properties.append(deepcopy(section))
            element.pPr.remove(section)
    for one in reversed(made):
        element.addnext(one)

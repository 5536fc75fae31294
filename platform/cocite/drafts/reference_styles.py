"""References of papers in a style of CSL, such as APA's or a journal's, made by citeproc-py.

citeproc-py writes titles into its HTML as they are, tags included. Here its markup is signs of Unicode's private use
area instead, which are taken out of all texts before, so that nothing that a paper is called becomes markup.
"""

from __future__ import annotations

import html
import io
import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import Element

from cocite.corpus import csl_json
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.xml_records import xml_records
from cocite.corpus.records import PaperRecord
from cocite.corpus.streams import SourcePosition
from cocite.drafts.style_names import style_file
from cocite.errors import InputError

MAX_BYTES = 1 << 20
"""Bytes of a style; the longest of the public ones have a sixth of it."""
_KEPT = 64
"""Styles that are kept in memory once they were asked for by name."""
_LOCALE = re.compile(r"[a-z]{2}(?:-[A-Z]{2})?")
_FORMS = {
    "Italic": ("<i>", "</i>", "*"),
    "Oblique": ("<i>", "</i>", "*"),
    "Bold": ("<b>", "</b>", "**"),
    "Light": ("", "", ""),
    "Underline": ("<u>", "</u>", ""),
    "SmallCaps": ('<span style="font-variant:small-caps">', "</span>", ""),
    "Superscript": ("<sup>", "</sup>", ""),
    "Subscript": ("<sub>", "</sub>", ""),
}
"""citeproc-py's name of a form -> its beginning and end in HTML, and its marks in Markdown."""
_FIRST = 0xE000
_HTML, _MARKDOWN = (
    {
        chr(_FIRST + 2 * i + end): mark
        for i, (first, last, star) in enumerate(_FORMS.values())
        for end, mark in enumerate((first, last) if form == "html" else (star, star))
    }
    for form in ("html", "markdown")
)
"""Sign -> what stands for it."""
_SIGNS = re.compile(f"([{''.join(_HTML)}])")
_OPEN, _CLOSE = "".join([*_HTML][::2]), "".join([*_HTML][1::2])


@dataclass(frozen=True, slots=True)
class FormattedReference:
    """A reference as a style has it.

    Attributes:
        marked: its text, with signs of the private use area for markup.

    Example:
        >>> reference = FormattedReference("Lee. Trees & <b>. \\ue000ACL\\ue001.")
        >>> reference.text, reference.markdown(lambda text: text), reference.html
        ('Lee. Trees & <b>. ACL.', 'Lee. Trees & <b>. *ACL*.', 'Lee. Trees &amp; &lt;b&gt;. <i>ACL</i>.')
    """

    marked: str

    @property
    def text(self) -> str:
        """Without markup."""
        return _SIGNS.sub("", self.marked)

    @property
    def runs(self) -> list[tuple[str, frozenset[str]]]:
        """Its texts in turn, each with the names that citeproc-py has for its forms.

        Example:
            >>> FormattedReference("Lee. \\ue000ACL\\ue001.").runs
            [('Lee. ', frozenset()), ('ACL', frozenset({'Italic'})), ('.', frozenset())]
        """
        open_: list[str] = []
        found = []
        for piece in self._pieces():
            if piece not in _HTML:
                found += [(piece, frozenset(open_))] if piece else []
                continue
            number, is_end = divmod(ord(piece) - _FIRST, 2)
            form = list(_FORMS)[number]
            if not is_end:
                open_.append(form)
            elif form in open_:
                open_.remove(form)
        return found

    @property
    def html(self) -> str:
        """As HTML, escaped."""
        return "".join(_HTML[piece] if piece in _HTML else html.escape(piece) for piece in self._pieces())

    def markdown(self, escape: Callable[[str], str]) -> str:
        """As Markdown.

        Args:
            escape: of a text between marks; it keeps spaces at both ends.
        """
        return "".join(_MARKDOWN[piece] if piece in _MARKDOWN else escape(piece) for piece in self._pieces())

    def _pieces(self) -> list[str]:
        return _SIGNS.split(self.marked)


class ReferenceStyle:
    """A style of CSL.

    Args:
        data: the XML of an independent style that was checked.
        locale: whose words and dates it uses.
        where: the style's name, for errors.

    Example:
        >>> style = ReferenceStyle.read("ieee")
        >>> style.references([PaperRecord("a", "Trees", year=1999, authors=("Ann Lee",))])[0].text
        '[1] A. Lee, “Trees”, 1999.'
    """

    def __init__(self, data: bytes, locale: str, where: str) -> None:
        self.data, self.locale, self.where = data, locale, where

    @property
    def is_numbered(self) -> bool:
        """Whether its references begin with numbers."""
        says = b'citation-format="numeric"' in self.data
        return says or b"citation-number" in self.data.partition(b"<bibliography")[2]

    @classmethod
    def read(cls, style: str) -> ReferenceStyle:
        """Read a ``.csl`` file, or a style by its name.

        Raises:
            InputError: the file is no style of CSL, has no bibliography, or is too large.
            NotFoundError: there is neither such a file nor such a style.
        """
        path = Path(style)
        return cls._of(path, style) if path.exists() else cls.named(style)

    @classmethod
    @lru_cache(_KEPT)
    def named(cls, name: str) -> ReferenceStyle:
        """A style by its name, see :func:`~cocite.drafts.style_names.style_file`.

        Raises:
            InputError: it has no bibliography.
            NotFoundError: there is no such style.

        Example:
            >>> ReferenceStyle.named("harvard").is_numbered
            False
        """
        return cls._of(style_file(name), name)

    @classmethod
    def _of(cls, path: Path, style: str) -> ReferenceStyle:
        if not path.is_file():
            raise InputError("is not a file", where=style, hint="name a .csl file")
        with InputFile(path) as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"has more than {MAX_BYTES >> 20} MiB", where=style, hint="name a .csl file")
        with InputFile(path) as stream:
            [(_, root)] = xml_records(stream, SourcePosition(), {"style"}, "style")
        locale = root.get("default-locale") or "en-US"
        if not _LOCALE.fullmatch(locale):
            raise InputError(f"the locale {locale[:40]!r} is none of CSL", where=style)
        if root.find("bibliography") is None:
            raise InputError("has no bibliography", where=style, hint=_advice(root))
        return cls(data, locale, style)

    def references(self, papers: Sequence[PaperRecord]) -> list[FormattedReference]:
        """The reference of each paper, numbered in this order where the style numbers them.

        Raises:
            InputError: citeproc-py cannot use the style.
        """
        from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle
        from citeproc.source.json import CiteProcJSON

        items: list[dict[str, Any]] = json.loads(_SIGNS.sub("", csl_json.entries(papers)))
        keys = [f"p{number}" for number in range(len(items))]
        source = [{**item, "id": key} for item, key in zip(items, keys, strict=True)]
        forms = {name: _marker(number) for number, name in enumerate(_FORMS)}
        formatter = SimpleNamespace(preformat=str, **forms)
        # A style may use what citeproc-py lacks, and then any error comes out of it.
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                style = CitationStylesStyle(io.BytesIO(self.data), locale=self.locale, validate=False)
                bibliography = CitationStylesBibliography(style, CiteProcJSON(source), formatter)
                for key in keys:
                    bibliography.register(Citation([CitationItem(key)]))
                made = [str(entry) for entry in bibliography.bibliography()]
        except Exception as error:
            raise InputError(
                f"citeproc-py cannot use the style: {type(error).__name__}: {str(error)[:200]}",
                where=self.where,
                hint="try another style",
            ) from error
        found = [" ".join(entry.split()) for entry in made]
        if self.is_numbered:
            found = [_apart(entry, number) for number, entry in enumerate(found, 1)]
        return [FormattedReference(entry) for entry in found]


def by_id(style: ReferenceStyle, papers: Sequence[PaperRecord]) -> dict[str, FormattedReference]:
    """The id of each paper -> its reference; one that comes twice is numbered once."""
    once = {paper.id: paper for paper in papers}
    return dict(
        zip(once, style.references([replace(paper, abstract="") for paper in once.values()]), strict=True)
    )


def _apart(reference: str, number: int) -> str:
    """A reference with a space behind its number: citeproc-py leaves it to the reader to set the two apart."""
    label = re.match(rf"[{_OPEN}\[(]*{number}(?!\d)[{_CLOSE}\]).:]*+(?=\S)", reference)
    return reference if label is None else f"{label[0]} {reference[label.end() :]}"


def _marker(number: int) -> Callable[[object], str]:
    first, last = chr(_FIRST + 2 * number), chr(_FIRST + 2 * number + 1)
    return lambda text: f"{first}{text}{last}"


def _advice(root: Element) -> str:
    """What to do with a style that has no bibliography: a dependent one names that which has it."""
    links = root.iterfind("info/link")
    parent = next((link.get("href", "") for link in links if link.get("rel") == "independent-parent"), "")
    return f"name the style it depends on: {parent[:200]}" if parent else "name another style"

"""CSL-JSON, which Zotero, Pandoc and citation processors write: an array of items, or items in lines.

CSL-JSON knows no citations, so such a corpus has candidates alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cocite.corpus.importers.record_reading import paper_of, read_records
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError, bare_doi, mapping, objects, text
from cocite.corpus.records import PaperRecord, Record

_YEAR = re.compile(r"\d{4}")
_MARKUP = re.compile(r"</?(?:i|b|sc|sup|sub|span)(?:\s[^<>]*)?>")
"""What CSL allows within a title."""
_NAME = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")


class CSL(JSONLines):
    """Items of CSL-JSON.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.csl import CSL
        >>> item = '{"id": "lee99", "title": "On <i>BERT</i>", "issued": {"date-parts": [[1999, 5]]},'
        >>> item += '"author": [{"given": "Ann", "family": "Lee"}]}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "library.json")
        ...     _ = path.write_text(f"[{item}]")
        ...     paper, = CSL(path)
        >>> paper.id, paper.title, paper.authors, paper.year
        ('lee99', 'On BERT', ('Ann Lee',), 1999)
    """

    format = "csl-json"

    @staticmethod
    def recognises(value: Mapping[str, Any]) -> bool:
        """Whether a first record looks like an item: it has an id and a title, as cocite's own papers have."""
        authors = value.get("author")
        return (
            "id" in value
            and isinstance(value.get("title"), str)
            and (
                any(name in value for name in ("container-title", "citation-key", "collection-title"))
                or isinstance(value.get("issued"), dict)
                or (isinstance(authors, list) and any(isinstance(a, dict) and "family" in a for a in authors))
            )
        ) or _is_list(value)

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one item, or those of ``{"items": [...]}``."""
        if not _is_list(value):
            yield paper_of_item(value)
            return
        for number, item in enumerate(value["items"]):
            yield from read_records(item, lambda item: iter([paper_of_item(item)]), within=f"items[{number}]")


def _is_list(value: Mapping[str, Any]) -> bool:
    items = value.get("items")
    return (
        isinstance(items, list)
        and bool(items)
        and isinstance(items[0], dict)
        and "items" not in items[0]
        and CSL.recognises(items[0])
    )


def paper_of_item(value: Any) -> PaperRecord:
    """The paper of an item.

    Raises:
        FieldError: it is no object, or a field is not of its type.

    Example:
        >>> paper_of_item({"id": 7, "title": "On <i>BERT</i>", "DOI": "https://doi.org/10.1/x"}).doi
        '10.1/x'
    """
    if not isinstance(value, dict):
        raise FieldError("item", "an object", value)
    keywords = text(value, "keyword")
    return paper_of(
        value,
        {"venue": ("container-title", "publisher")},
        title=_plain(text(value, "title")),
        abstract=_plain(text(value, "abstract")),
        year=issued_year(mapping(value, "issued")),
        authors=tuple(filter(None, map(_author, objects(value, "author")))),
        keyphrases=tuple(filter(None, map(str.strip, keywords.split(";" if ";" in keywords else ",")))),
        doi=bare_doi(text(value, "DOI")),
        citations=(),
    )


def issued_year(issued: dict[str, Any]) -> int:
    """The year of a date, as CSL and Crossref write it; 0 when unknown.

    Example:
        >>> issued_year({"date-parts": [[1999, 5]]}), issued_year({"raw": "May 1999"}), issued_year({})
        (1999, 1999, 0)
    """
    parts = issued.get("date-parts")
    if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0]:
        first = str(parts[0][0])
        return int(first) if first.isascii() and first.isdigit() and len(first) < 10 else 0
    found = _YEAR.search(text(issued, "raw") or text(issued, "literal"))
    return int(found.group()) if found else 0


def _author(name: dict[str, Any]) -> str:
    return text(name, "literal") or " ".join(filter(None, (text(name, part) for part in _NAME)))


def _plain(value: str) -> str:
    return _MARKUP.sub("", value)

"""Works of Crossref: JSON lines, pages and works of its API, and the files of its public data file.

The id of a work is its DOI in lower case, for DOIs are the same in any case; references with a DOI are links.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.csl import issued_year
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.jats import plain_text
from cocite.corpus.importers.json_items import has_items, json_items
from cocite.corpus.importers.record_reading import paper_of, read_records
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError, bare_doi, mapping, objects, text, texts
from cocite.corpus.names import Name
from cocite.corpus.records import Malformed, Record
from cocite.corpus.streams import SourcePosition

_OWN = ("reference-count", "references-count", "is-referenced-by-count", "member", "container-title")
"""Fields, one of which stands beside each work's DOI and title."""


class Crossref(JSONLines):
    """Works with their references.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.crossref import Crossref
        >>> work = '{"DOI": "10.1/B", "title": ["On <i>BERT</i>"], "issued": {"date-parts": [[2019, 5]]},'
        >>> work += '"author": [{"given": "Ann", "family": "Lee"}],'
        >>> work += '"reference": [{"key": "1", "DOI": "10.1/A"}, {"key": "2", "unstructured": "A book."}]}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "0.json")
        ...     _ = path.write_text(f'{{"items": [{work}]}}')
        ...     paper, unmatched = Crossref(path)
        >>> paper.id, paper.title, paper.year, paper.citations
        ('10.1/b', 'On BERT', 2019, ('10.1/a',))
        >>> unmatched.rule, unmatched.count
        ('unmatched_citation', 1)
    """

    format = "crossref"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like a work, or like an answer of the API."""
        if "message-type" in value and isinstance(value.get("message"), dict):
            return True
        return "DOI" in value and (
            isinstance(value.get("title"), list)
            or ("id" not in value and any(name in value for name in _OWN))
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one work and its unmatched references, or those of the works of one answer."""
        message = mapping(value, "message") if "message-type" in value else value
        path = "message." if message is not value else ""
        items = message.get("items")
        if not isinstance(items, list):
            yield from _work(message)
            return
        for number, item in enumerate(items):
            yield from read_records(item, _work, within=f"{path}items[{number}]")

    def objects(
        self, file: Path, first: int = 0, last: int | None = None
    ) -> Iterator[dict[str, Any] | Malformed]:
        """The works of one file or range of lines."""
        if not has_items(file):
            return super().objects(file, first, last)

        def read(stream: InputFile, position: SourcePosition) -> Iterator[dict[str, Any] | Malformed]:
            return json_items(stream, position, self.decoder)

        return self.values_of(file, read)

    def is_whole(self, file: Path) -> bool:
        """Whether a file cannot be divided at its lines."""
        return has_items(file) or super().is_whole(file)


def _work(value: Any) -> Iterator[Record]:
    if not isinstance(value, dict):
        raise FieldError("work", "an object", value)
    doi = _doi(value)
    cited = [_doi(reference) for reference in objects(value, "reference")]
    yield paper_of(
        value,
        id=doi,
        title=plain_text(_first(value, "title")),
        abstract=plain_text(text(value, "abstract")),
        year=issued_year(mapping(value, "issued")),
        venue=plain_text(_first(value, "container-title")),
        authors=tuple(filter(None, map(_author, objects(value, "author")))),
        keyphrases=(),
        doi=doi,
        citations=tuple(filter(None, cited)),
    )
    if unmatched := cited.count(""):
        reason = f"{unmatched} of {len(cited)} references of {doi or 'a work without DOI'} have no DOI"
        yield Malformed(reason, "reference", "unmatched_citation", count=unmatched)


def _doi(value: dict[str, Any]) -> str:
    return bare_doi(text(value, "DOI")).lower()


def _first(value: dict[str, Any], name: str) -> str:
    """The first of a list of texts, or the text; empty when there is none."""
    return next(iter(texts(value, name)), "") if isinstance(value.get(name), list) else text(value, name)


def _author(value: dict[str, Any]) -> str:
    name = Name(text(value, "family"), text(value, "given"), suffix=text(value, "suffix"))
    return " ".join((name.first_last or text(value, "name")).split())

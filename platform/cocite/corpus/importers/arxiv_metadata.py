"""arXiv's metadata, as its public snapshot has them: one preprint a line, without references.

The year is that of the first version, for others may cite a preprint from then on. Where a preprint has no DOI of a
journal, it gets the one that arXiv gave it. Accents and macros of LaTeX are read; math stays LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.record_reading import paper_of
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError, bare_doi, objects, text
from cocite.corpus.latex import MATH, from_latex
from cocite.corpus.names import Name
from cocite.corpus.records import ARXIV_DOI, PaperRecord, Record

_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


class ArXiv(JSONLines):
    """Preprints of arXiv's metadata snapshot.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.arxiv_metadata import ArXiv
        >>> line = '{"id": "0704.0001", "title": "Massive photon\\\\n  pairs", "categories": "hep-ph",'
        >>> line += '"update_date": "2008-11-26", "authors_parsed": [["Nadolsky", "P. M.", ""]]}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "arxiv-metadata-oai-snapshot.json")
        ...     _ = path.write_text(line)
        ...     paper, = ArXiv(path)
        >>> paper.title, paper.authors, paper.year, paper.doi
        ('Massive photon pairs', ('P. M. Nadolsky',), 2008, '10.48550/arXiv.0704.0001')
    """

    format = "arxiv"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like a preprint of the snapshot."""
        return "id" in value and (
            "authors_parsed" in value or ("categories" in value and "journal-ref" in value)
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one preprint."""
        yield preprint_paper(value, text(value, "id").strip())


def preprint_paper(value: dict[str, Any], number: str) -> PaperRecord:
    """The paper that a preprint's metadata describe.

    Args:
        value: the metadata.
        number: the preprint's number on arXiv, which becomes the paper's id.

    Raises:
        FieldError: a field is not of its type.
    """
    # Where an article and its erratum have a DOI each, the article's comes first.
    doi = bare_doi(next(iter(text(value, "doi").split()), ""))
    return paper_of(
        value,
        id=number,
        title=_plain(text(value, "title")),
        abstract=_plain(text(value, "abstract")),
        year=_year(value),
        venue=_plain(text(value, "journal-ref")),
        authors=_authors(value),
        keyphrases=tuple(text(value, "categories").split()),
        doi=doi or (ARXIV_DOI + number if number else ""),
        citations=(),
    )


def _year(value: dict[str, Any]) -> int:
    versions = objects(value, "versions")
    found = _YEAR.search(text(versions[0], "created") if versions else "") or _YEAR.search(
        text(value, "update_date")
    )
    return int(found.group()) if found else 0


def _authors(value: dict[str, Any]) -> tuple[str, ...]:
    """The names, each of which is a list of family name, given names, suffix and perhaps affiliations."""
    parsed = value.get("authors_parsed")
    if parsed is None:
        return ()
    if not isinstance(parsed, list):
        raise FieldError("authors_parsed", "a list of names", parsed)
    names = []
    for parts in parsed:
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise FieldError("authors_parsed", "a list of names, each a list of texts", parts)
        family, given, suffix = (*parts[:3], "", "", "")[:3]
        names.append(_plain(Name(family.strip(), given.strip(), suffix=suffix.strip()).first_last))
    return tuple(filter(None, names))


def _plain(latex: str) -> str:
    """The text that LaTeX prints, in one line. Only macros outside math are parsed, which takes milliseconds."""
    line = " ".join(latex.split())
    return from_latex(line) if "\\" in line and "\\" in MATH.sub("", line) else line

"""OpenAlex works: JSON lines of its snapshot, or pages of its API (``{"meta": …, "results": […]}``).

Abstracts come as an inverted index and are put together again. Keyphrases are the MeSH descriptors, major topics first;
where a work has none, its keywords, or else its concepts from level 1 up by score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cocite.corpus.importers.inverted_abstract import abstract_of
from cocite.corpus.importers.record_reading import paper_of, read_records
from cocite.corpus.importers.source import JSONLines
from cocite.corpus.importers.values import FieldError, integer, mapping, objects, text, texts
from cocite.corpus.records import PaperRecord, Record

INDEX = "abstract_inverted_index"
"""Field of the abstract."""
MIN_CONCEPT_SCORE = 0.3
"""Concepts scored lower are guesses."""
_OTHER = re.compile(r"https://openalex\.org/(?!W)")
"""Ids of what is not a work: authors, sources, institutions."""


class OpenAlex(JSONLines):
    """Works with their references.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.openalex import OpenAlex
        >>> work = '{"id": "https://openalex.org/W2", "display_name": "A", "publication_year": 2017,'
        >>> work += '"abstract_inverted_index": {"all": [1], "Attention": [0]},'
        >>> work += '"referenced_works": ["https://openalex.org/W1"]}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "works.jsonl")
        ...     _ = path.write_text(work)
        ...     paper = next(iter(OpenAlex(path)))
        >>> paper.id, paper.abstract, paper.citations
        ('W2', 'Attention all', ('W1',))
    """

    format = "openalex"

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like a work, or like a page of the API."""
        names = ("referenced_works", "abstract_inverted_index", "authorships")
        return (
            _is_page(value)
            or any(name in value for name in names)
            or str(value.get("id")).startswith("https://openalex.org/")
        )

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The paper of one work, or those of one page."""
        if not _is_page(value):
            yield _work(value)
            return
        for number, work in enumerate(value["results"]):
            yield from read_records(work, lambda work: iter([_work(work)]), within=f"results[{number}]")


def _work(value: Any) -> PaperRecord:
    if not isinstance(value, dict):
        raise FieldError("work", "an object", value)
    id_ = text(value, "id")
    if _OTHER.match(id_):
        raise FieldError("id", "that of a work", id_)
    return paper_of(
        value,
        {"title": ("title", "display_name"), "year": ("publication_year",)},
        id=short_id(id_),
        abstract=abstract_of(mapping(value, INDEX), INDEX),
        venue=_venue(value),
        authors=tuple(text(mapping(a, "author"), "display_name") for a in objects(value, "authorships")),
        keyphrases=_keyphrases(value),
        doi=text(value, "doi").removeprefix("https://doi.org/"),
        citations=tuple(short_id(url) for url in texts(value, "referenced_works")),
    )


def _is_page(value: dict[str, object]) -> bool:
    return "meta" in value and isinstance(value.get("results"), list)


def short_id(url: str) -> str:
    """``W123`` of ``https://openalex.org/W123``."""
    return url.rsplit("/", 1)[-1]


def _venue(value: dict[str, Any]) -> str:
    source = mapping(mapping(value, "primary_location"), "source")
    # Until 2023 the venue stood in host_venue.
    return text(source, "display_name") or text(mapping(value, "host_venue"), "display_name")


def _keyphrases(value: dict[str, Any]) -> tuple[str, ...]:
    mesh = sorted(objects(value, "mesh"), key=lambda term: not term.get("is_major_topic"))
    names = [text(term, "descriptor_name") for term in mesh]
    if not names:
        names = [text(term, "display_name", "keyword") for term in objects(value, "keywords")]
    if not names:
        concepts = [
            (_number(c.get("score")), c) for c in objects(value, "concepts") if integer(c, "level", 1) > 0
        ]
        concepts.sort(key=lambda pair: -pair[0])
        names = [text(c, "display_name") for score, c in concepts if score >= MIN_CONCEPT_SCORE]
    return tuple(dict.fromkeys(name for name in names if name))


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        return 0.0

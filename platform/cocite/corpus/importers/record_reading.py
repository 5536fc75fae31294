"""Makes records of the fields of a source, and a :class:`Malformed` in place of one whose fields do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from cocite.corpus.importers.values import FieldError, integer, text, texts
from cocite.corpus.records import CitationRecord, Malformed, PaperRecord, Record

T = TypeVar("T")

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id",),
    "title": ("title",),
    "abstract": ("abstract",),
    "year": ("year",),
    "venue": ("venue",),
    "authors": ("authors",),
    "keyphrases": (),
    "doi": ("doi",),
    "citations": (),
}
"""Field of a paper -> its names in a source that calls it as cocite does."""


def read_records(
    value: T, read: Callable[[T], Iterator[Record]], *, within: str = "", quote: bool = True
) -> Iterator[Record]:
    """The records that an importer makes of one object, up to the first field that does not fit.

    Args:
        value: the object as the source holds it.
        read: makes the records; it raises :class:`FieldError` for a field that is not of its type.
        within: the path of the object in a larger one, as ``contexts``; empty: it stands by itself.
        quote: whether a :class:`Malformed` quotes the object, so that it can be found in the source.

    Example:
        >>> from cocite.corpus.importers.record_reading import paper_of, read_records
        >>> for value in ({"id": 7, "title": "A"}, {"id": 8, "title": ["B"]}):
        ...     print(*read_records(value, lambda value: iter([paper_of(value)])))  # doctest: +ELLIPSIS
        PaperRecord(id='7', title='A', ...)
        Malformed(reason='title must be text, not a list', field='title', rule='malformed', ...)
    """
    try:
        yield from read(value)
    except FieldError as error:
        yield malformed(error, value if quote else None, within)


def malformed(error: FieldError, value: object = None, within: str = "") -> Malformed:
    """The report of a field that does not fit; see :func:`read_records` for the arguments."""
    reason, field = (f"{within}: {error}", f"{within}.{error.field}") if within else (str(error), error.field)
    return Malformed(reason, field, excerpt="" if value is None else excerpt(value))


def excerpt(value: object) -> str:
    """The beginning of an object as JSON, so that it can be found in the source."""
    return json.dumps(value)[:200]


def paper_of(
    value: Mapping[str, Any], names: Mapping[str, tuple[str, ...]] | None = None, **fields: Any
) -> PaperRecord:
    """The paper that an object describes.

    Args:
        value: the object as the source holds it.
        names: field of a paper -> its names in the object, of which the first that is present counts; a field that is
            not here has the name of ``NAMES``.
        fields: fields that the importer has worked out itself; they are not looked up.

    Raises:
        FieldError: a field is not of its type.
    """
    named = NAMES | dict(names or {})
    for field in NAMES:
        if field in fields:
            continue
        if field == "year":
            fields[field] = integer(value, named[field][0])
        elif field in ("authors", "keyphrases", "citations"):
            fields[field] = _first_list(value, named[field])
        else:
            fields[field] = text(value, *named[field])
    return PaperRecord(**fields)


def _first_list(value: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of the first of some fields that is not empty. A field without alternatives must be a list."""
    name = names[0] if len(names) == 1 else next((name for name in names if value.get(name)), None)
    return () if name is None else texts(value, name)


def citations_of(fields: Mapping[str, Any]) -> Iterator[CitationRecord]:
    """A citation for each of the papers that one paper cites, from the fields ``citing`` and ``cited``."""
    for cited in fields["cited"]:
        yield CitationRecord(fields["citing"], cited)

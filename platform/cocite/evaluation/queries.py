"""Queries of a JSONL file, one a line. ``docs/evaluation.md`` defines the format."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.evaluation.trec import check_id
from cocite.protocols import NO_ROW, Query
from cocite.text.gaps import strip_marks
from cocite.text.queries import manuscript_queries

LINE_LIMIT = 1 << 20
"""Longest line, in bytes."""
BATCH = 1024
"""Lines whose papers are looked up together."""

Name = Annotated[str, Field(max_length=1000)]


class QueryLine(Settings):
    """The fields of a line.

    Example:
        >>> QueryLine.parse({"id": 7, "title": "Parsing", "year": 1999}).id
        '7'
    """

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """Names the query in the run; without spaces, once in the file."""
    context: Annotated[str, Field(max_length=20_000)] = ""
    """Text around the gap, which reads ``TARGETCIT`` or ``[CIT]``."""
    title: Annotated[str, Field(max_length=4_000)] = ""
    """The manuscript's title."""
    abstract: Annotated[str, Field(max_length=100_000)] = ""
    """The manuscript's abstract."""
    year: Annotated[int, Field(ge=0, le=9999)] | None = None
    """The manuscript's year."""
    authors: Annotated[tuple[Name, ...], Field(max_length=10_000)] = ()
    """The manuscript's authors, as the corpus writes them."""
    venue: Name = ""
    """Where it is to appear."""
    keyphrases: Annotated[tuple[Name, ...], Field(max_length=1_000)] = ()
    """Its key phrases."""
    paper: Annotated[str, Field(max_length=256)] = ""
    """The manuscript's id when it is in the corpus: never recommended, and fields that the line lacks are its own."""
    sentence: Annotated[int, Field(ge=-1, le=1_000_000)] | None = None
    """Position of the gap's sentence in the manuscript's body."""
    exclude: Annotated[tuple[Annotated[str, Field(max_length=256)], ...], Field(max_length=10_000)] = ()
    """Ids of papers not to recommend."""

    @field_validator("id", "paper", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return _text(value)

    @field_validator("exclude", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        return [_text(item) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> Any:
    """An id as text; the file may hold it as a whole number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class QueryRange:
    """Some queries of a file, one behind the other.

    Attributes:
        offset: bytes before the first one's line.
        line: lines before it.
        count: of the queries.

    Example:
        >>> QueryRange(offset=0, line=0, count=100).count
        100
    """

    offset: int
    line: int
    count: int


class QueryFile:
    r"""Queries of a JSONL file, for a corpus.

    No line is skipped: the error of the first bad line names its number and field. :meth:`check` reads the file to its
    end, so that a mistake in the last line costs seconds and not a night of ranking.

    Args:
        path: the file.
        corpus: resolves ids of papers.
        within: the queries that are read; all by default.

    Attributes:
        unknown_excludes: how many ids to exclude are not in the corpus, so that they have no effect.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "queries.jsonl")
        ...     _ = path.write_text('{"id": "a", "title": "Parsing"}\n{"id": "b", "context": "as in [CIT]"}\n')
        ...     file = QueryFile(path, starter_corpus())
        ...     file.check(), [query.is_local for query in file]
        (2, [False, True])
    """

    def __init__(self, path: str | Path, corpus: Corpus, within: QueryRange | None = None) -> None:
        self.path, self.corpus, self.within = Path(path), corpus, within
        self.unknown_excludes = 0

    def check(self) -> int:
        """Read all queries; returns their number.

        Raises:
            InputError: a line is malformed, or the file holds no query.
            NotFoundError: there is no such file.
        """
        return sum(part.count for part in self.ranges(sys.maxsize))

    def ranges(self, size: int) -> list[QueryRange]:
        """Read all queries, as :meth:`check` does; returns where each ``size`` of them lie.

        Raises:
            InputError: a line is malformed, or the file holds no query.
            NotFoundError: there is no such file.
        """
        parts: list[QueryRange] = []
        for number, (place, _) in enumerate(self._read()):
            if number % size:
                parts[-1] = replace(parts[-1], count=parts[-1].count + 1)
            else:
                parts.append(place)
        if not parts:
            raise InputError("holds no query", where=str(self.path))
        return parts

    def batches(self, size: int) -> Iterator[list[Query]]:
        """The queries, ``size`` at a time."""
        queries = iter(self)
        while batch := list(islice(queries, size)):
            yield batch

    def __iter__(self) -> Iterator[Query]:
        return (query for _, query in self._read())

    def _read(self) -> Iterator[tuple[QueryRange, Query]]:
        """Each query, and where it lies."""
        self.unknown_excludes = 0
        seen: set[str] = set()
        lines = self._lines(seen)
        while batch := list(islice(lines, BATCH)):
            queries = self._queries([(place.line + 1, line) for place, line in batch])
            yield from zip((place for place, _ in batch), queries, strict=True)

    def _lines(self, seen: set[str]) -> Iterator[tuple[QueryRange, QueryLine]]:
        within = self.within or QueryRange(0, 0, sys.maxsize)
        try:
            with self.path.open("rb") as file:
                file.seek(within.offset)
                offset, number = within.offset, within.line
                # Iterating over the file would read a line of any length into memory.
                while len(seen) < within.count and (raw := file.readline(LINE_LIMIT + 1)):
                    place = QueryRange(offset, number, 1)
                    offset, number = offset + len(raw), number + 1
                    where = f"{self.path}, line {number}"
                    if len(raw) > LINE_LIMIT:
                        raise InputError(f"longer than {LINE_LIMIT:,} bytes", where=where)
                    if not raw.strip():
                        continue
                    line = QueryLine.parse(_object(raw, where), where=where)
                    check_id(line.id, f"query id of {where},")
                    if line.id in seen:
                        raise InputError(f"id: {line.id!r} has been used by an earlier line", where=where)
                    seen.add(line.id)
                    yield place, line
        except FileNotFoundError as error:
            raise NotFoundError("no such file", where=str(self.path)) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", where=str(self.path)) from error

    def _queries(self, lines: list[tuple[int, QueryLine]]) -> Iterator[Query]:
        rows = self.corpus.find([line.paper for _, line in lines]).tolist()
        within = sorted(
            {row for (_, line), row in zip(lines, rows, strict=True) if line.paper and row != NO_ROW}
        )
        manuscripts = {
            query.paper: query for query in manuscript_queries(self.corpus, np.array(within, np.int32))
        }
        for (number, line), row in zip(lines, rows, strict=True):
            where = f"{self.path}, line {number}"
            if line.paper and row == NO_ROW:
                raise InputError(
                    f"paper: no paper of the corpus has the id {line.paper!r}",
                    where=where,
                    hint="leave `paper` out for a manuscript from outside",
                )
            yield self._query(line, manuscripts[row] if line.paper else Query(""), where)

    def _query(self, line: QueryLine, known: Query, where: str) -> Query:
        excluded = self.corpus.find(list(line.exclude)).tolist() if line.exclude else []
        self.unknown_excludes += excluded.count(NO_ROW)
        query = Query(
            id=line.id,
            context=line.context.strip(),
            title=line.title.strip() or known.title,
            abstract=line.abstract.strip() or known.abstract,
            year=line.year or known.year,
            authors=line.authors or known.authors,
            venue=line.venue or known.venue,
            keyphrases=line.keyphrases or known.keyphrases,
            paper=known.paper,
            sentence=NO_ROW if line.sentence is None else line.sentence,
            exclude=tuple(row for row in excluded if row != NO_ROW),
        )
        if not (strip_marks(query.context) or query.title or query.abstract):
            raise InputError("has no text to rank by", where=where, hint="give context, title or abstract")
        return query


def _object(raw: bytes, where: str) -> dict[str, Any]:
    """A line as a JSON object without absent values."""
    try:
        # Some editors begin a file with a byte order mark.
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_pairs)
    except UnicodeDecodeError as error:
        raise InputError(f"not valid UTF-8: {error}", where=where) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", where=where) from error
    if not isinstance(value, dict):
        raise InputError(
            "must be one JSON object", where=where, hint='for example {"id": "1", "title": "..."}'
        )
    return {key: item for key, item in value.items() if item is not None}


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a field is given twice")
    return result

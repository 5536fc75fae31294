"""TREC run and qrels files, which every public evaluator reads.

A run line is ``query Q0 document rank score tag``, a qrels line ``query 0 document grade``. Files are streamed in
both directions, so neither the depth nor the number of queries is bounded by memory; a name that ends in ``.gz``
is compressed.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from cocite.atomic_files import replace_file
from cocite.corpus.csr import CSR
from cocite.errors import InputError, NotFoundError
from cocite.protocols import NO_ROW, Ranking

IdsOfRows = Callable[[NDArray[np.int32]], Sequence[str]]
"""Returns the ids of some rows."""
RowsOfIds = Callable[[Sequence[str]], NDArray[np.int32]]
"""Returns the rows of some ids, ``NO_ROW`` for an unknown one."""

LINE_LIMIT = 4096
"""Longest line read, in characters."""
DEPTH_LIMIT = 100_000
"""Most documents of one query that are read."""
QRELS_LIMIT = 50_000_000
"""Most judgements that are read: they are held in memory."""
LARGEST = np.float32(3e38)
"""The largest score written."""
_TINY = 0x00800000 - 1  # how many subnormal numbers of a sign there are in float32


# -- writing ------------------------------------------------------------------------------------------------


class RunWriter:
    """Appends rankings to an open run file.

    Args:
        file: open for writing.
        names: returns the ids of rows.
        tag: name of the system.

    Example:
        >>> file = io.StringIO()
        >>> writer = RunWriter(file, lambda rows: [f"p{row}" for row in rows], "bm25")
        >>> writer.write(["q"], Ranking(np.array([[7, 4]], np.int32), np.array([[2.0, 2.0]], np.float32)))
        >>> print(file.getvalue())
        q Q0 p7 1 2 bm25
        q Q0 p4 2 1.99999988 bm25
        <BLANKLINE>
    """

    def __init__(self, file: IO[str], names: IdsOfRows, tag: str) -> None:
        self.file, self.names, self.tag = file, names, check_id(tag, "run tag")
        self.queries = 0
        self.lines = 0

    def write(self, query_ids: Sequence[str], ranking: Ranking) -> None:
        """Write a batch: ``query_ids`` (Q,) and its ranking (Q, k); padding is left out.

        Evaluators order a query's lines by score and not by rank, and each breaks ties in its own way. So the written
        scores decrease strictly: a tie is lowered to the next smaller float32.
        """
        if len(query_ids) != len(ranking):
            raise ValueError(f"{len(query_ids)} queries but {len(ranking)} rankings")
        rows, inverse = np.unique(ranking.rows, return_inverse=True)
        known = [check_id(name, "paper id") for name in self.names(rows[rows != NO_ROW])]
        names = np.array([""] * (len(rows) - len(known)) + known, object)[inverse].reshape(ranking.rows.shape)
        scores = strictly_falling(ranking.scores)
        for query, ids, values, present in zip(query_ids, names, scores, ranking.rows != NO_ROW, strict=True):
            head, tail = f"{check_id(query, 'query id')} Q0 ", f" {self.tag}\n"
            lines = zip(ids[present].tolist(), values[present].tolist(), strict=True)
            self.file.write(
                "".join([f"{head}{name} {i} {score:.9g}{tail}" for i, (name, score) in enumerate(lines, 1)])
            )
            self.lines += int(present.sum())
        self.queries += len(query_ids)


@contextmanager
def run_writer(path: str | Path, names: IdsOfRows, *, tag: str = "cocite") -> Iterator[RunWriter]:
    """A writer whose file appears at ``path`` when the body ends, complete; if the body raises, no file appears."""
    with _atomic(Path(path)) as file:
        yield RunWriter(file, names, tag)


def write_qrels(path: str | Path, query_ids: Sequence[str], relevant: CSR, names: IdsOfRows) -> None:
    """Write the relevant papers of each query, all of grade 1."""
    if len(query_ids) != len(relevant):
        raise ValueError(f"{len(query_ids)} queries but {len(relevant)} lists of relevant papers")
    owners, rows = relevant.pairs()
    with _atomic(Path(path)) as file:
        heads = [f"{check_id(query, 'query id')} 0 " for query in query_ids]
        ids = names(rows)
        file.writelines(
            f"{heads[owner]}{check_id(name, 'paper id')} 1\n" for owner, name in zip(owners, ids, strict=True)
        )


def check_id(text: str, what: str) -> str:
    """An id that a TREC file can hold.

    Raises:
        InputError: it is empty or has a space in it.
    """
    if not text or _SPACE.search(text):
        raise InputError(
            f"the {what} {text!r} is empty or contains a space, which a TREC file cannot hold",
            hint="rename it without spaces",
        )
    return text


_SPACE = re.compile(r"\s")


def strictly_falling(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores (Q, k) where each is below the one before, changed as little as float32 allows.

    Infinite scores become +-3e38. Subnormal numbers are rounded to zero and never used for a tie: many readers take
    them for zero.

    Raises:
        ValueError: a score is not a number.

    Example:
        >>> strictly_falling(np.array([[1.0, 0.5, 0.5]], np.float32))
        array([[1.        , 0.5       , 0.49999997]], dtype=float32)
    """
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    scores = np.clip(np.ascontiguousarray(scores, np.float32), -LARGEST, LARGEST)
    bits = scores.view(np.int32).astype(np.int64)
    size = np.maximum((bits & 0x7FFFFFFF) - _TINY, 0)  # float32 as an integer of the same order, from zero
    keys = np.where(bits < 0, -size, size)
    # key[i] <= key[i - 1] - 1 is the same as key[i] + i <= key[i - 1] + i - 1: a running minimum.
    offset = np.arange(keys.shape[-1])
    keys = np.minimum.accumulate(keys + offset, axis=-1) - offset
    size = np.abs(keys)
    unsigned = np.where(size > 0, size + _TINY, 0) + np.where(keys < 0, 0x80000000, 0)
    return unsigned.astype(np.uint32).view(np.float32)


def join_runs(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Write a run whose lines, as UTF-8, are there in pieces, in order: the file that one writer would have made."""
    with _atomic_bytes(Path(path)) as file:
        for piece in pieces:
            file.write(piece)
        file.flush()  # as a writer of text does at its end: of a compressed file it is a part


@contextmanager
def _atomic(path: Path) -> Iterator[IO[str]]:
    with _atomic_bytes(path) as raw:
        file = io.TextIOWrapper(cast(BinaryIO, raw), encoding="utf-8", newline="\n")
        yield file
        file.flush()
        file.detach()


@contextmanager
def _atomic_bytes(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with replace_file(path) as raw:
        if path.suffix == ".gz":
            # No time stamp and no name in the header: the same run is the same file.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield packed
        else:
            yield raw


# -- reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Qrels:
    """Relevance judgements: the documents of a positive grade, by query, in the order of the file.

    Example:
        >>> qrels = Qrels({"q": ["p2", "p1"], "r": ["p2"]})
        >>> len(qrels), qrels.documents
        (2, ['p2', 'p1'])
    """

    relevant: dict[str, list[str]]

    def __len__(self) -> int:
        return len(self.relevant)

    @property
    def documents(self) -> list[str]:
        """Each relevant document once, in the order of the file."""
        return list(dict.fromkeys(name for names in self.relevant.values() for name in names))


class DocumentNumbers:
    """Numbers for the ids of a fixed set of documents; any other id gets ``NO_ROW``.

    Args:
        ids: distinct ids; the i-th gets the number i.

    Example:
        >>> DocumentNumbers(["p1", "p2"]).rows(["p2", "elsewhere"])
        array([ 1, -1], dtype=int32)
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)
        self._rows = {name: i for i, name in enumerate(self.ids)}

    def rows(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The number of each id."""
        get = self._rows.get
        return np.fromiter((get(name, NO_ROW) for name in names), np.int32, len(names))


def read_qrels(path: str | Path) -> Qrels:
    """Read the judgements; a query whose documents all have the grade 0 is kept, without relevant documents.

    Raises:
        InputError: a line is malformed, or the file holds no judgement.
        NotFoundError: there is no such file.
    """
    relevant: dict[str, list[str]] = {}
    seen: set[tuple[str, str]] = set()
    for number, (query, _, document, grade) in _fields(Path(path), 4, "query 0 document grade"):
        where = f"{path}, line {number}"
        try:
            is_relevant = int(grade) > 0
        except ValueError as error:
            raise InputError(f"the grade {grade!r} is not a whole number", where=where) from error
        if (query, document) in seen:
            raise InputError(f"query {query!r} has judged {document!r} before", where=where)
        if len(seen) >= QRELS_LIMIT:
            raise InputError(f"more than {QRELS_LIMIT:,} judgements", where=where, hint="split the file")
        seen.add((query, document))
        documents = relevant.setdefault(query, [])
        if is_relevant:
            documents.append(document)
    if not relevant:
        raise InputError("holds no judgement", where=str(path))
    return Qrels(relevant)


def read_run(path: str | Path, rows: RowsOfIds, *, batch: int = 256) -> Iterator[tuple[list[str], Ranking]]:
    """Read a run, ``batch`` queries at a time, as (query ids, ranking).

    Documents are put in the order that trec_eval uses whatever the rank column says: by decreasing score, ties by the
    later id. A document unknown to ``rows`` keeps its rank as ``NO_ROW``. The lines of a query must stand together.

    Raises:
        InputError: a line is malformed, or the file holds none.
        NotFoundError: there is no such file.
    """
    path = Path(path)
    done: set[str] = set()
    queries: list[str] = []
    documents: list[list[str]] = []
    scores: list[NDArray[np.float32]] = []
    lines = _fields(path, 6, "query Q0 document rank score tag")
    for query, group in groupby(lines, key=lambda line: line[1][0]):
        if query in done:
            number = next(group)[0]
            raise InputError(
                f"the lines of query {query!r} do not stand together",
                where=f"{path}, line {number}",
                hint="sort the file by query",
            )
        done.add(query)
        names, values = _documents(path, query, group)  # noqa: B031
        queries.append(query)
        documents.append(names)
        scores.append(values)
        if len(queries) == batch:
            yield queries, _ranking(documents, scores, rows)
            queries, documents, scores = [], [], []
    if not done:
        raise InputError("holds no line", where=str(path))
    if queries:
        yield queries, _ranking(documents, scores, rows)


def _documents(
    path: Path, query: str, group: Iterator[tuple[int, list[str]]]
) -> tuple[list[str], NDArray[np.float32]]:
    """One query's documents in the order of their scores."""
    names: list[str] = []
    values: list[float] = []
    for number, fields in group:
        try:
            value = float(fields[4])
        except ValueError as error:
            raise InputError(
                f"the score {fields[4]!r} is not a number", where=f"{path}, line {number}"
            ) from error
        if not math.isfinite(value):
            raise InputError(f"the score {fields[4]!r} is not finite", where=f"{path}, line {number}")
        if len(names) >= DEPTH_LIMIT:
            raise InputError(
                f"query {query!r} has more than {DEPTH_LIMIT:,} documents", where=f"{path}, line {number}"
            )
        names.append(fields[2])
        values.append(value)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"query {query!r} names {twice!r} twice", where=str(path))
    # float32, as trec_eval compares them.
    scores = np.array(values, np.float64).astype(np.float32)
    if (np.diff(scores) < 0).all():
        return names, scores
    order = sorted(range(len(names)), key=lambda i: (scores[i], names[i]), reverse=True)
    return [names[i] for i in order], scores[order]


def _ranking(documents: list[list[str]], scores: list[NDArray[np.float32]], rows: RowsOfIds) -> Ranking:
    width = max(map(len, documents))
    ranking = Ranking(
        np.full((len(documents), width), NO_ROW, np.int32),
        np.full((len(documents), width), -np.inf, np.float32),
    )
    lengths = np.array([len(names) for names in documents])
    filled = np.arange(width) < lengths[:, None]
    ranking.rows[filled] = rows([name for names in documents for name in names])
    ranking.scores[filled] = np.concatenate(scores)
    return ranking


def _open(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _fields(path: Path, count: int, form: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, fields) of each line that is not blank."""
    try:
        with _open(path) as file:
            readline = file.readline
            number = 0
            while line := readline(LINE_LIMIT + 1):
                number += 1
                if len(line) > LINE_LIMIT:
                    raise InputError(
                        f"longer than {LINE_LIMIT} characters", where=f"{path}, line {number}", hint=form
                    )
                fields = line.split()
                if len(fields) != count:
                    if not fields:
                        continue
                    raise InputError(
                        f"has {len(fields)} fields where {count} are due",
                        where=f"{path}, line {number}",
                        hint=f"the form is: {form}",
                    )
                yield number, fields
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"not readable as text: {error}", where=str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error

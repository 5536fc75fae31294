"""Ranking the queries of a file, batch by batch, into a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from cocite.evaluation.experiment import Rank
from cocite.evaluation.queries import QueryFile
from cocite.evaluation.trec import RunWriter
from cocite.protocols import NO_ROW


@dataclass(frozen=True)
class RankedFile:
    """What a ranking of a file's queries came to.

    Attributes:
        queries: that were ranked.
        lines: of the run.
        empty: how many queries found no candidate.
        unknown_excludes: how many ids to exclude are not in the corpus.
        seconds: from the first batch to the last, of all processes together.

    Example:
        >>> RankedFile.total([RankedFile(3, 30, 0, 1, 0.5), RankedFile(2, 20, 0, 0, 0.25)])
        RankedFile(queries=5, lines=50, empty=0, unknown_excludes=1, seconds=0.75)
    """

    queries: int
    lines: int
    empty: int
    unknown_excludes: int
    seconds: float

    @classmethod
    def total(cls, parts: Sequence[RankedFile]) -> RankedFile:
        """The sums over parts."""
        return cls(*(sum(getattr(part, field.name) for part in parts) for field in fields(cls)))


def rank_file(
    file: QueryFile,
    rank: Rank,
    writer: RunWriter,
    *,
    k: int,
    batch: int,
    advance: Callable[[int], object] = lambda _: None,
) -> RankedFile:
    """Rank the queries of a file, and write their lines.

    Args:
        file: the queries.
        rank: what ranks.
        writer: of the run.
        k: depth of the rankings.
        batch: queries ranked at a time: with ``k`` it bounds the memory.
        advance: receives the number of queries of each batch.

    Raises:
        InputError: a line of the file is malformed.
    """
    begin, empty = time.perf_counter(), 0
    for queries in file.batches(batch):
        ranking = rank(queries, k)
        writer.write([query.id for query in queries], ranking)
        empty += int((ranking.rows == NO_ROW).all(axis=1).sum())
        advance(len(queries))
    seconds = time.perf_counter() - begin
    return RankedFile(writer.queries, writer.lines, empty, file.unknown_excludes, seconds)

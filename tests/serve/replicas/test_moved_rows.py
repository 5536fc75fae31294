"""Rows of one index as rows of another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW, Query
from cocite_serve.replicas.moved_rows import moved_rows


def release(ids: str) -> Any:
    corpus = SimpleNamespace(ids=lambda rows: [ids[row] for row in rows])
    return SimpleNamespace(
        papers=SimpleNamespace(corpus=corpus, rows=lambda names: [ids.find(n) for n in names])
    )


def test_papers_that_the_other_index_lacks_are_left_out() -> None:
    query, options = (
        Query("q", title="Parsing", paper=1, exclude=(0, 2), like=(1, 2), dislike=(3,)),
        Options(exclude=(3, 2)),
    )
    moved, with_rows = moved_rows(query, options, release("abcd"), release("dbxa"))
    assert (moved.paper, moved.exclude, with_rows.exclude) == (1, (3,), (0,))
    assert (moved.like, moved.dislike) == ((1,), (0,))
    moved, _ = moved_rows(query, options, release("abcd"), release("acd"))
    assert (moved.paper, moved.exclude) == (NO_ROW, (0, 1))
    one = release("abcd")
    assert moved_rows(query, options, one, one) == (query, options)

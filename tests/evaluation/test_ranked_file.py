"""Ranking the queries of a file into a run."""

from __future__ import annotations

import io
import json

import numpy as np

from cocite.evaluation.queries import QueryFile
from cocite.evaluation.ranked_file import RankedFile, rank_file
from cocite.evaluation.tasks import paper_ids
from cocite.evaluation.trec import RunWriter
from cocite.protocols import NO_ROW, Ranking


def test_every_batch_is_ranked_written_and_counted(split_corpus, tmp_path):
    path = tmp_path / "q.jsonl"
    lines = [{"id": i, "title": "a title", "exclude": ["nobody"]} for i in range(5)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sizes = []

    def rank(queries, k):
        sizes.append((len(queries), k))
        rows = np.tile(np.arange(k, dtype=np.int32), (len(queries), 1))
        rows[0] = NO_ROW  # the first of each batch finds nothing
        return Ranking(rows, np.where(rows == NO_ROW, -np.inf, -rows).astype(np.float32))

    text, told = io.StringIO(), []
    writer = RunWriter(text, lambda rows: paper_ids(split_corpus, rows), "mine")
    found = rank_file(QueryFile(path, split_corpus), rank, writer, k=3, batch=2, advance=told.append)
    assert sizes == [(2, 3), (2, 3), (1, 3)]
    assert told == [2, 2, 1]
    assert (found.queries, found.lines, found.empty, found.unknown_excludes) == (5, 6, 3, 5)
    assert [line.split()[0] for line in text.getvalue().splitlines()] == ["1"] * 3 + ["3"] * 3
    assert found.seconds > 0


def test_parts_are_added_up():
    parts = [RankedFile(2, 20, 1, 0, 0.5), RankedFile(3, 30, 0, 4, 0.25)]
    assert RankedFile.total(parts) == RankedFile(5, 50, 1, 4, 0.75)
    assert RankedFile.total([]) == RankedFile(0, 0, 0, 0, 0)

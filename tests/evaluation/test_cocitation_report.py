"""The tables of MP-BERT4CR: which differences are marked, and against what."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cocite.evaluation import tasks
from cocite.evaluation.cocitation import (
    METRICS,
    by_positives,
)
from cocite.evaluation.cocitation_report import CocitationTables
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means, measure
from cocite.evaluation.significance import compare
from cocite.protocols import Ranking


@pytest.fixture(scope="module")
def case(split_corpus):
    """The dev contexts, random rankings, and what was cited together before."""
    task = tasks.local(split_corpus, "dev")
    rng = np.random.default_rng(0)
    rows = np.stack([rng.permutation(len(split_corpus))[:200] for _ in range(len(task))]).astype(np.int32)
    # Half of the relevant papers stand first, so that the metrics are not all zero.
    for i in range(0, len(task), 2):
        first = task.relevant[i]
        rows[i, : len(first)] = first
    hits = Hits.of(
        Ranking(rows, np.tile(np.arange(200, 0, -1, dtype=np.float32), (len(task), 1))), task.relevant
    )
    return task, hits, tasks.history_before(split_corpus, "dev")


def worse(hits: Hits, share: float, seed: int) -> Hits:
    """Hits with some of the papers moved behind the first ten."""
    moved = np.random.default_rng(seed).random(len(hits.ranks)) < share
    return Hits(
        hits.indptr, np.where(moved, hits.ranks + 100, hits.ranks).astype(np.int32), hits.rows, hits.depth
    )


def test_models_are_tested_against_the_best_baseline_of_each_column(case) -> None:
    _, hits, history = case
    base = {"weak": worse(hits, 1.0, 0), "strong": worse(hits, 0.5, 1)}
    mine = {"model": hits, "triplet": worse(hits, 0.5, 2), "bad": worse(hits, 1.0, 3)}
    tables = CocitationTables(base, mine, history)
    assert set(tables.best.values()) == {"strong"}
    table = tables.table3()
    assert [row[0] for row in table.rows] == [*base, *mine]
    rows = {row[0]: row[1:] for row in table.rows}
    assert not any(cell.mark for name in base for cell in rows[name])
    assert "*" in {cell.mark for cell in rows["model"]}
    assert "-" in {cell.mark for cell in rows["bad"]}
    place = table.columns.index("MAP@10 >= 1") - 1
    part = by_positives(hits)[">= 1"]
    assert rows["model"][place] == pytest.approx(means(part, METRICS)["MAP@10"])
    for name in ("model", "triplet"):
        values = [
            measure(by_positives(h)[">= 1"], METRICS).per_query["MAP@10"]
            for h in (mine[name], base["strong"])
        ]
        assert (rows[name][place].mark != "") == (compare(*values).p < 0.05)
    variants = tables.table4(["model", "triplet"], "triplet")
    assert [row[0] for row in variants.rows] == ["best baseline", "model", "triplet"]
    assert variants.rows[0][1:] == rows["strong"]
    assert "*" in {cell.mark for cell in variants.rows[1][1:]}
    assert not any(cell.mark for cell in variants.rows[2][1:])
    json.dumps(table.records() + variants.records() + tables.slices().records())


def test_without_baselines_nothing_is_marked(case) -> None:
    _, hits, history = case
    tables = CocitationTables({}, {"a": hits, "b": worse(hits, 0.5, 0)}, history)
    assert not any(cell.mark for row in tables.table3().rows for cell in row[1:])
    assert [row[0] for row in tables.table4(["a", "b"], None).rows] == ["a", "b"]
    table = tables.slices()
    assert table.columns[1:3] == ["R@10 unseen", "MAP@10 unseen"]
    assert "5+: " in table.note

"""Recall of each signal of the first stage alone, and of their blend, on dev queries with the history before them.

    python benchmarks/first_stage.py CORPUS [--task global] [--queries 400] [--climb]

With ``--climb`` the weights are sought anew by coordinate ascent on half of the queries, and measured on the others.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import Ranking
from cocite.retrieval.index import Index

DEPTHS = (10, 100, 300, 500)
POOL = 1000
STEPS = (0.0, 0.1, 0.2, 0.4, 0.8)
AIM = np.array([0.2, 0.3, 0.3, 0.2])
"""What the ascent climbs: a mean of the recalls at the four depths."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--task", choices=tasks.TASKS, default="global")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--climb", action="store_true")
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    task = tasks.build(corpus, options.task, "dev", sample=options.queries, seed=0)
    stage = FirstStage(Index.build(corpus, tasks.history_before(corpus, "dev")))
    names, tables, cited = gathered(stage, task)
    weights = np.array([stage.weights[options.task].get(name, 0.0) for name in names])
    print(f"{options.task}: {len(task)} dev queries, history to {stage.index.history.year}")
    print("| signal | " + " | ".join(f"R@{depth}" for depth in DEPTHS) + " |")
    print("| --- | " + " | ".join("---" for _ in DEPTHS) + " |")
    for i, name in enumerate(names):
        show(name, recalls(tables, cited, np.eye(len(names))[i]))
    show("the blend", recalls(tables, cited, weights))
    if options.climb:
        learn, check = range(0, len(tables), 2), range(1, len(tables), 2)
        climbed = climb([tables[i] for i in learn], [cited[i] for i in learn], weights.copy())
        held = [tables[i] for i in check], [cited[i] for i in check]
        show("the blend, on the other half", recalls(*held, weights))
        show("climbed, on the other half", recalls(*held, climbed))
        print({name: float(weight) for name, weight in zip(names, climbed, strict=True) if weight})


def gathered(
    stage: FirstStage, task: tasks.Task
) -> tuple[list[str], list[NDArray[np.float32]], list[tuple[NDArray[np.bool_], int]]]:
    """For each query, the scaled signals of the union of every signal's best papers, and which of them are cited."""
    names: list[str] = []
    tables, cited = [], []
    for start in range(0, len(task), 32):
        queries = task.queries[start : start + 32]
        block = stage.signals.of(queries)
        names = [*block.dense, *block.votes, *stage.signals.counts, *block.people]
        dense = [block.over_all(name) for name in names]
        pools = [Ranking.best(scores, min(POOL, scores.shape[1])) for scores in dense]
        for i, query in enumerate(queries):
            rows = np.unique([pool.rows[i] for pool in pools])
            rows = rows[(rows >= 0) & (rows != query.paper)]
            relevant = task.relevant[start + i]
            tables.append(np.stack([scores[i, rows] for scores in dense], axis=1))
            cited.append((np.isin(rows, relevant), len(relevant)))
    return names, tables, cited


def recalls(
    tables: list[NDArray[np.float32]],
    cited: list[tuple[NDArray[np.bool_], int]],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Mean recall at each depth; papers of equal score count as ranked before the cited one."""
    total = np.zeros(len(DEPTHS))
    for table, (relevant, count) in zip(tables, cited, strict=True):
        scores = table @ weights.astype(np.float32)
        ranks = (scores[None, :] >= scores[relevant][:, None]).sum(axis=1)
        total += [(ranks <= depth).sum() / count for depth in DEPTHS]
    return total / max(len(tables), 1)


def climb(
    tables: list[NDArray[np.float32]],
    cited: list[tuple[NDArray[np.bool_], int]],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coordinate ascent: each weight in turn takes the step that raises the recall most, twice round."""
    best = float(recalls(tables, cited, weights) @ AIM)
    for _ in range(2):
        for i in range(len(weights)):
            for step in STEPS:
                tried = weights.copy()
                tried[i] = step
                value = float(recalls(tables, cited, tried) @ AIM)
                if value > best + 1e-4:
                    best, weights = value, tried
    return weights


def show(name: str, values: NDArray[np.float64]) -> None:
    print(f"| {name} | " + " | ".join(f"{value:.3f}".lstrip("0") for value in values) + " |", flush=True)


if __name__ == "__main__":
    main()

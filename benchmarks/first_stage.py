"""Recall of each signal of the first stage alone, and of their blend, on dev queries with the history before them.

    python benchmarks/first_stage.py CORPUS [--model MODEL] [--index INDEX] [--task global] [--climb all]

With a model folder its encoders' signals are among them, and the blend is measured with each of them left out; an index
folder of the corpus saves making their vectors anew. With ``--climb`` the weights are sought anew by coordinate ascent
on half of the queries, and measured on the others: those of ``all`` signals, or those of the ``encoders`` alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.pipeline.components import ENCODERS, load_encoders
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import NO_ROW
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot

DEPTHS = (10, 100, 300, 1000)
STEPS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
AIM = np.array([0.2, 0.3, 0.3, 0.2])
"""What the ascent climbs: a mean of the recalls at the four depths."""
BLOCK = 32


@dataclass
class Queries:
    """Scaled signals of all papers, and what each query cites.

    Attributes:
        signals: name -> (Q, N) float16.
        papers: (Q,) the manuscripts.
        cited: rows that each query cites.
    """

    signals: dict[str, NDArray[np.float16]]
    papers: NDArray[np.int32]
    cited: list[NDArray[np.int32]]

    def take(self, some: slice) -> Queries:
        signals = {name: values[some] for name, values in self.signals.items()}
        return Queries(signals, self.papers[some], self.cited[some])

    def blend(self, weights: dict[str, float]) -> NDArray[np.float32]:
        """(Q, N) the weighted sum of the signals."""
        total = np.zeros(next(iter(self.signals.values())).shape, np.float32)
        for name, weight in weights.items():
            if weight and name in self.signals:
                total += np.float32(weight) * self.signals[name]
        return total

    def recalls(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Mean recall at each depth; papers of equal score count as ranked before the cited one."""
        total = np.zeros(len(DEPTHS))
        for row, own, cited in zip(scores, self.papers, self.cited, strict=True):
            if own != NO_ROW:
                row[own] = -np.inf
            ranks = (row[None, :] >= row[cited][:, None]).sum(axis=1)
            total += [(ranks <= depth).mean() for depth in DEPTHS]
        return total / max(len(self.cited), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--task", choices=tasks.TASKS, default="global")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--climb", choices=("all", "encoders"))
    options = parser.parse_args()
    corpus, encoders = Corpus.open(options.corpus), load_encoders(options.model)
    task = tasks.build(corpus, options.task, "dev", sample=options.queries, seed=0)
    saved = IndexSnapshot.open(options.index) if options.index else None
    index = index_of(corpus, tasks.history_before(corpus, "dev"), encoders, saved=saved)
    stage = FirstStage(index, encoders)
    data = gathered(stage, task)
    weights = dict(stage.weights[options.task])
    print(f"{options.task}: {len(task)} dev queries, history to {index.history.year}")
    print("| signal | " + " | ".join(f"R@{depth}" for depth in DEPTHS) + " |")
    print("| --- | " + " | ".join("---" for _ in DEPTHS) + " |")
    for name in data.signals:
        show(name, data.recalls(data.blend({name: 1.0})))
    neural = [name for name in ENCODERS if name in {encoder.name for encoder in encoders}]
    for name in neural:
        show(f"the blend without {name}", data.recalls(data.blend(without(weights, name))))
    show("the blend without encoders", data.recalls(data.blend(without(weights, *ENCODERS))))
    show("the blend", data.recalls(data.blend(weights)))
    if options.climb:
        free = [name for name in data.signals if options.climb == "all" or name.partition(":")[0] in ENCODERS]
        climbed = climb(data.take(slice(0, None, 2)), weights, free)
        held = data.take(slice(1, None, 2))
        show("the blend, on the other half", held.recalls(held.blend(weights)))
        show("climbed, on the other half", held.recalls(held.blend(climbed)))
        print({name: weight for name, weight in climbed.items() if weight})


def gathered(stage: FirstStage, task: tasks.Task) -> Queries:
    """Every signal of all papers for each query."""
    signals: dict[str, NDArray[np.float16]] = {}
    for start in range(0, len(task), BLOCK):
        block = DenseSignals(stage.signals, task.queries[start : start + BLOCK])
        votes = [name + kind for name in block.votes for kind in ("", ":cubes")]
        for name in [*block.dense, *block.vectors, *votes, *stage.signals.counts, *block.people]:
            empty = signals.setdefault(name, np.zeros((len(task), len(stage.index)), np.float16))
            empty[start : start + BLOCK] = block.over_all(name)
    return Queries(signals, task.papers, [task.relevant[i] for i in range(len(task))])


def without(weights: dict[str, float], *encoders: str) -> dict[str, float]:
    """The weights of all signals but those of some encoders."""
    return {name: weight for name, weight in weights.items() if name.partition(":")[0] not in encoders}


def climb(data: Queries, weights: dict[str, float], free: list[str]) -> dict[str, float]:
    """Coordinate ascent: each free weight in turn takes the step that raises the recall most, twice round."""
    weights = {name: weights.get(name, 0.0) for name in data.signals}
    scores = data.blend(weights)
    best = float(data.recalls(scores) @ AIM)
    for _ in range(2):
        # What an encoder says is weighed first: the others then add what it leaves.
        for name in sorted(free, key=lambda name: name.partition(":")[0] not in ENCODERS):
            before = weights[name]
            for step in STEPS:
                tried = scores + np.float32(step - before) * data.signals[name]
                value = float(data.recalls(tried) @ AIM)
                if value > best + 1e-4:
                    best, weights[name] = value, step
            scores = data.blend(weights)
    return weights


def show(name: str, values: NDArray[np.float64]) -> None:
    print(f"| {name} | " + " | ".join(f"{value:.3f}".lstrip("0") for value in values) + " |", flush=True)


if __name__ == "__main__":
    main()

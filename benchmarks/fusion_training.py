"""What the learned fusion gains from more candidates, more trees and finer bins, and what each costs.

    python benchmarks/fusion_training.py CORPUS [--task global] [--train 2000] [--test 600]

Trains on dev queries with the history before them, measures on test queries with theirs; no neural signal.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.retrieval.index.index import Index
from cocite.systems.learned_fusion.examples import FusionExamples, collect_examples
from cocite.systems.learned_fusion.recipe import FusionSettings
from cocite.systems.learned_fusion.task import train_trees

METRICS = ("F1@20", "MRR", "R@10", "R@100")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--task", choices=tasks.TASKS, default="global")
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=600)
    options = parser.parse_args()
    depth = 500 if options.task == "global" else 300
    corpus = Corpus.open(options.corpus)
    index = Index.build(corpus, tasks.history_before(corpus, "test"))
    before = FirstStage(index.with_history(tasks.history_before(corpus, "dev")))
    dev = tasks.build(corpus, options.task, "dev", sample=options.train)
    test = tasks.build(corpus, options.task, "test", sample=options.test)
    data = collect_examples(
        StagedCandidates(before, SecondStage(before.index), depth=depth), dev.queries, dev.relevant
    )
    candidates = FirstStage(index).retrieve(test.queries, Options(depth=depth))

    def measured(name: str, seconds: float, ranking: object) -> None:
        values = means(Hits.of(ranking, test.relevant), METRICS)  # type: ignore[arg-type]
        cells = " | ".join(f"{values[metric]:.3f}".lstrip("0") for metric in METRICS)
        print(f"| {name} | {seconds:.0f} | {cells} |", flush=True)

    print(f"{options.task}: trained on {len(dev)} dev queries, measured on {len(test)} test queries")
    print("| training | CPU s | " + " | ".join(METRICS) + " |\n| --- | --- |" + " --- |" * len(METRICS))
    measured("no fusion: the blend", 0, candidates.ranking)
    plans = {
        "default": (data, FusionSettings()),
        "100 trees at rate 0.1": (data, FusionSettings(trees=100, learning_rate=0.1)),
        "255 bins": (data, FusionSettings(bins=255)),
        "100 hardest + 60 drawn candidates": (thinned(data, 100, 60), FusionSettings()),
        "60 hardest + 40 drawn candidates": (thinned(data, 60, 40), FusionSettings()),
    }
    for name, (part, settings) in plans.items():
        began = time.process_time()
        fusion = train_trees(part.signals, part.relevant, settings)
        seconds = time.process_time() - began
        measured(name, seconds, candidates.ranking.rescored(fusion.scores(candidates.signals)))


def thinned(data: FusionExamples, hardest: int, drawn: int) -> FusionExamples:
    """Fewer candidates of each query: the cited ones, the first of the first stage, and some of the others."""
    priority = np.random.default_rng(0).random(data.relevant.shape)
    priority[:, :hardest] += 2
    priority[data.relevant] += 4
    kept = np.sort(np.argsort(-priority, axis=1)[:, : hardest + drawn], axis=1)
    signals = {name: np.take_along_axis(values, kept, axis=1) for name, values in data.signals.items()}
    return FusionExamples(signals, np.take_along_axis(data.relevant, kept, axis=1), data.counts, data.papers)


if __name__ == "__main__":
    main()

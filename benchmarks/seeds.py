"""Recall of a hidden reference by the other references as seeds, beside the text's and a co-citation count's.

    python -m benchmarks.seeds CORPUS [--papers 1000]

Of each paper with five references in the corpus or more, one is hidden, drawn with a seed; the others are liked papers.
Candidates are all papers of its year or earlier but these; links and contexts are those known before the split. The
first stage alone ranks, without encoders. Papers of equal score share the mean of their ranks. The weights of seeds
beside a text and of dislikes are chosen on dev, by the mean of both measures, and reported on test.

Dislikes are simulated: the two best papers of the list by text and seeds that the paper does not cite are disliked, and
compared with the same list without these two.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.bootstrap import resampled_means
from cocite.corpus.history import history_before
from cocite.corpus.splits import split_papers
from cocite.corpus.store import Corpus
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.seeds import DISLIKES, SeedScores, add_seeds, without_seeds
from cocite.pipeline.seeds import SEEDS as BY_KIND
from cocite.protocols import Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.cocited import count_cocited

Matrix = NDArray[np.float32]

BLOCK = 32
LEAST = 5
"""References that a paper has in the corpus."""
DISLIKED = 2
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
DISLIKE_WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0)
SHOWN = 10
SEEDS = BY_KIND["global"]


@dataclass(frozen=True)
class Task:
    """Papers that lack one of their references.

    Attributes:
        queries: with title, abstract, and the other references as seeds.
        hidden: (Q,) the reference that each lacks.
    """

    queries: list[Query]
    hidden: NDArray[np.int64]


def make_task(corpus: Corpus, split: str, count: int, seed: int) -> Task:
    """The papers of a split with references enough, drawn with a seed."""
    rng = np.random.default_rng(seed)
    asked = np.flatnonzero(split_papers(corpus, split) & (corpus.cites.degrees >= LEAST))
    rows = np.sort(rng.choice(asked, min(count, len(asked)), replace=False))
    queries, hidden = [], []
    for row, paper in zip(rows.tolist(), corpus.papers_at(rows), strict=True):
        references = corpus.cites[row]
        hidden.append(int(rng.choice(references)))
        queries.append(
            Query(
                paper.id,
                title=paper.title,
                abstract=paper.abstract,
                year=paper.year,
                authors=paper.authors,
                venue=paper.venue,
                paper=row,
                like=tuple(one for one in references.tolist() if one != hidden[-1]),
                candidates_until=paper.year,
            )
        )
    return Task(queries, np.array(hidden))


class Measured:
    """Ranks of the hidden references of one split, by system.

    Args:
        stage: over the history before the split.
        task: its papers.
    """

    def __init__(self, stage: FirstStage, task: Task) -> None:
        self._stage, self._task = stage, task
        self.ranks: dict[str, list[NDArray[np.float64]]] = {}

    def run(self, weights: Sequence[float], dislikes: Sequence[float], weight: float) -> None:
        """Rank by every system; the simulated dislikes are of the list with the seeds' ``weight``."""
        for first in range(0, len(self._task.queries), BLOCK):
            self._block(slice(first, first + BLOCK), weights, dislikes, weight)

    def _block(self, part: slice, weights: Sequence[float], dislikes: Sequence[float], weight: float) -> None:
        stage, queries, hidden = self._stage, self._task.queries[part], self._task.hidden[part]
        signals = DenseSignals(stage.signals, queries)
        text = np.zeros((len(queries), len(stage.index)), np.float32)
        for name, of_signal in stage.weights["global"].items():
            if name not in ("hatten", "nnselect", "sentence"):
                text += of_signal * signals.over_all(name)
        scores = stage.seeds.of(queries)
        assert scores is not None
        seeds = scores.dense()
        asked = [without_seeds(query) for query in queries]

        def both(seeds: Matrix, weight: float) -> Matrix:
            blend = text.copy()
            add_seeds(blend, seeds, queries, weight=weight)
            return blend

        def show(name: str, values: Matrix, without: Sequence[tuple[int, ...]] | None = None) -> None:
            excluded = [
                replace(query, exclude=(*query.exclude, *(without[i] if without else ())))
                for i, query in enumerate(asked)
            ]
            values = stage.index.forbid(values.copy(), excluded)
            own = values[np.arange(len(hidden)), hidden][:, None]
            rank = (values > own).sum(axis=1) + ((values == own).sum(axis=1) + 1) / 2
            self.ranks.setdefault(name, []).append(rank)

        show("co-citation count", self._cocitations(queries))
        show("seeds alone", seeds)
        show("title and abstract", text)
        for one in weights:
            show(f"both, weight {one}", both(seeds, one))
        wrong = self._wrong(both(seeds, weight), asked)
        show("without the wrong", both(seeds, weight), wrong)
        disliking = [replace(query, dislike=rows) for query, rows in zip(queries, wrong, strict=True)]
        for one in dislikes:
            found = SeedScores(stage.signals, dislikes=one).of(disliking)
            assert found is not None
            show(f"dislikes, weight {one}", both(found.dense(), weight), wrong)

    def _cocitations(self, queries: Sequence[Query]) -> Matrix:
        """(Q, N) how many papers of the query's year or earlier cite a paper and a seed."""
        result = np.zeros((len(queries), len(self._stage.index)), np.float32)
        for of_query, query in zip(result, queries, strict=True):
            found = count_cocited(
                self._stage.index.history, query.like, until=query.candidates_until, without=query.paper
            )
            of_query[found.rows] = found.papers
        return result

    def _wrong(self, scores: Matrix, queries: Sequence[Query]) -> list[tuple[int, ...]]:
        """The best papers of each list that the paper does not cite."""
        order = np.argsort(-self._stage.index.forbid(scores, queries), axis=1, kind="stable")
        cites = self._stage.index.corpus.cites
        return [
            tuple(of_query[~np.isin(of_query, cites[query.paper])][:DISLIKED].tolist())
            for of_query, query in zip(order[:, :100], queries, strict=True)
        ]

    def values(self, name: str) -> NDArray[np.float64]:
        """(Q, 2) whether the hidden reference is among the best ten, and its reciprocal rank."""
        ranks = np.concatenate(self.ranks[name])
        return np.stack([ranks <= SHOWN, 1 / ranks], 1)

    def known_citations(self) -> NDArray[np.int32]:
        """(Q,) how often the history cites each hidden reference."""
        return self._stage.index.history.in_citations[self._task.hidden]

    def seeds(self) -> NDArray[np.int64]:
        """(Q,) how many papers each query likes."""
        return np.array([len(query.like) for query in self._task.queries])

    def best(self, names: Sequence[str]) -> str:
        """The system with the highest mean of both measures."""
        return max(names, key=lambda name: float(self.values(name).mean()))


def row(label: str, values: NDArray[np.float64], base: NDArray[np.float64] | None) -> str:
    """A line of the table: both measures with intervals, and their differences from a base."""
    papers = np.arange(len(values))

    def cells(of: NDArray[np.float64], form: str) -> list[str]:
        low, high = np.quantile(resampled_means(of, papers), [0.025, 0.975], axis=0)
        numbers = zip(of.mean(axis=0), low, high, strict=True)
        return [" ".join((f"{mean:{form}}", f"({a:{form}} to {b:{form}})")) for mean, a, b in numbers]

    differences = ["", ""] if base is None else cells(values - base, "+.3f")
    return "| " + " | ".join([label, *cells(values, ".3f"), *differences]) + " |"


def show_slices(test: Measured, both: str) -> None:
    """Print R@10 of three systems for parts of the papers, with the difference that the seeds make to the text."""
    cited, likes = test.known_citations(), test.seeds()
    parts = {
        "hidden reference never cited before": cited == 0,
        "cited 1 to 4 times": (cited >= 1) & (cited <= 4),
        "cited 5 to 19 times": (cited >= 5) & (cited <= 19),
        "cited 20 times or more": cited >= 20,
        "4 to 6 seeds": likes <= 6,
        "7 to 12 seeds": (likes >= 7) & (likes <= 12),
        "13 seeds or more": likes >= 13,
    }
    text, seeds, sums = (test.values(name)[:, 0] for name in ("title and abstract", "seeds alone", both))
    print("\n| slice | papers | title and abstract | seeds alone | both | difference of both from the text |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label, part in parts.items():
        gained = (sums - text)[part][:, None]
        low, high = np.quantile(resampled_means(gained, np.arange(len(gained))), [0.025, 0.975])
        means = " | ".join(f"{of[part].mean():.3f}" for of in (text, seeds, sums))
        print(f"| {label} | {part.sum()} | {means} | {gained.mean():+.3f} ({low:+.3f} to {high:+.3f}) |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--papers", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)

    def measured(split: str, weights: Sequence[float], dislikes: Sequence[float], weight: float) -> Measured:
        stage = FirstStage(Index.build(corpus, history_before(corpus, split)), dense=True)
        result = Measured(stage, make_task(corpus, split, options.papers, options.seed))
        result.run(weights, dislikes, weight)
        return result

    dev = measured("dev", WEIGHTS, DISLIKE_WEIGHTS, SEEDS)
    seeds = [f"both, weight {one}" for one in WEIGHTS]
    dislikes = [f"dislikes, weight {one}" for one in DISLIKE_WEIGHTS]
    print("| dev | R@10 | MRR |\n| --- | --- | --- |")
    for name in dev.ranks:
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in dev.values(name).mean(axis=0)) + " |")
    print(f"\nbest on dev: {dev.best(seeds)}; {dev.best(dislikes)}; in use: {SEEDS} and {DISLIKES}\n")
    test = measured("test", [SEEDS], [DISLIKES], SEEDS)
    text, both = "title and abstract", f"both, weight {SEEDS}"
    bases = {
        "seeds alone": "co-citation count",
        both: text,
        f"dislikes, weight {DISLIKES}": "without the wrong",
    }
    print(f"| {len(test.values(text)):,} test papers | R@10 | MRR | difference of R@10 | of MRR |")
    print("| --- | --- | --- | --- | --- |")
    for name in test.ranks:
        base = bases.get(name)
        label = f"{name} (difference from {base})" if base else name
        print(row(label, test.values(name), test.values(base) if base else None))
    show_slices(test, both)


if __name__ == "__main__":
    main()

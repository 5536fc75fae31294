"""Trains a learned fusion, and measures it on manuscripts that it did not see.

The trees are LightGBM's LambdaMART (Burges 2010): gradient boosting whose gradients are weighted by the change of NDCG
that swapping two candidates would bring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.systems.learned_fusion.examples import FusionExamples, held_out_parts
from cocite.systems.learned_fusion.recipe import FusionSettings, RankingRecipe
from cocite.systems.learned_fusion.reranker import LearnedFusion, stack_signals
from cocite.training.stages import StageComparison, Values, compare_stages, metric_means, score_values

if TYPE_CHECKING:
    import lightgbm  # half a second, with scikit-learn and pandas: only where trees are grown or read

STEPS = 10
"""Numbers of trees that are tried on the held-out queries, in equal steps."""
ONE_THREAD = 10_000_000
"""Values of a training table up to which one thread grows the trees."""


def train_trees(
    signals: Mapping[str, NDArray[np.float32]],
    relevant: NDArray[np.bool_],
    settings: FusionSettings | None = None,
    *,
    names: Sequence[str] | None = None,
    after: Callable[[lightgbm.Booster, int], object] | None = None,
) -> LearnedFusion:
    """Train a LambdaMART on the candidates of some queries.

    Args:
        signals: name -> (Q, k).
        relevant: (Q, k) which candidates the query cites; queries that cite none of them are not trained on.
        settings: how the trees are grown.
        names: which signals to read, in what order; all, sorted, by default.
        after: called with the booster and its number of trees after each of them.

    Raises:
        InputError: no query cites any of its candidates.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> relevant = rng.random((50, 10)) < 0.2
        >>> bm25 = (relevant + rng.normal(0, 0.3, relevant.shape)).astype(np.float32)
        >>> noise = rng.normal(size=relevant.shape).astype(np.float32)
        >>> fusion = train_trees({"bm25": bm25, "noise": noise}, relevant, FusionSettings(trees=5, threads=1))
        >>> fusion.importance()[0][0]
        'bm25'
    """
    import lightgbm

    settings = settings or FusionSettings()
    names = tuple(sorted(signals) if names is None else names)
    answered = relevant.any(axis=1)
    if not answered.any():
        raise InputError(
            "no query has a cited paper among its candidates", hint="give more queries or a greater depth"
        )
    # A query without a relevant candidate has no pair to be ordered.
    table = stack_signals(signals, names)[answered]
    queries, depth, width = table.shape
    data = lightgbm.Dataset(
        table.reshape(-1, width), relevant[answered].ravel().astype(np.int8), group=np.full(queries, depth)
    )
    parameters = {
        "objective": "lambdarank",
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": min(settings.least_in_leaf, max(1, queries * depth // 100)),
        "lambdarank_truncation_level": settings.truncation,
        "feature_fraction": settings.feature_share,
        "bagging_fraction": settings.query_share,
        "bagging_freq": 1,
        "lambda_l2": settings.l2,
        "seed": settings.seed,
        # A small table gains nothing from a second thread, and much is lost waiting for one on a busy machine.
        "num_threads": settings.threads if table.size > ONE_THREAD else 1,
        "max_bin": settings.bins,
        "deterministic": True,
        # LightGBM would time both layouts first, and sum in another order where the other one won.
        "force_row_wise": True,
        "verbose": -1,
    }
    callbacks = [lambda state: after(state.model, state.iteration + 1)] if after else None
    booster = lightgbm.train(parameters, data, num_boost_round=settings.trees, callbacks=callbacks)
    return LearnedFusion(booster, names, depth)


@dataclass(frozen=True)
class MeasuredFusion:
    """A trained fusion, and its measures on held-out queries.

    Attributes:
        fusion: trained on all examples.
        metrics: of fusions that did not see the queries they are measured on, and of the orders before.
        comparison: those fusions with the order before them; None where nothing was held out.
        note: how many of its trees are kept, and why.

    Example:
        >>> from cocite.systems.learned_fusion.recipe import FusionRecipe
        >>> rng = np.random.default_rng(0)
        >>> relevant = rng.random((60, 10)) < 0.2
        >>> signals = {
        ...     "first-stage": rng.normal(size=relevant.shape).astype(np.float32),
        ...     "bm25": (relevant + rng.normal(0, 0.3, relevant.shape)).astype(np.float32),
        ... }
        >>> papers, counts = np.arange(60, dtype=np.int32), relevant.sum(1).astype(np.int32)
        >>> recipe = FusionRecipe(trees=FusionSettings(trees=10, threads=1))
        >>> measured = train_measured(FusionExamples(signals, relevant, counts, papers), recipe)
        >>> measured.metrics["MRR"] > measured.metrics["first-stage MRR"]
        True
    """

    fusion: LearnedFusion
    metrics: dict[str, float]
    comparison: StageComparison | None
    note: str


def train_measured(
    data: FusionExamples,
    recipe: RankingRecipe,
    *,
    stage: str = "fusion",
    kind: str = "global",
    against: Sequence[str] = ("first-stage",),
) -> MeasuredFusion:
    """Train on all examples; the measured fusions are others, which did not see the queries they are measured on.

    Args:
        data: of one kind of query.
        recipe: how to train.
        stage: name of the fusion.
        kind: of the queries.
        against: signals whose order is measured on the same queries; the first is what the fusion reorders.
    """
    parts = held_out_parts(data.papers, recipe.held_out, recipe.seed + 1)
    if not parts:
        fusion = train_trees(data.signals, data.relevant, recipe.trees)
        note = f"{kind} {stage}: nothing is held out, so it is not measured"
        return MeasuredFusion(fusion, {}, None, note)
    settings = recipe.trees
    steps = np.unique(np.linspace(0, settings.trees, STEPS + 1).round().astype(int))[1:].tolist()
    values_by_part: list[list[Values]] = []  # for each part, for each number of trees
    for part in parts:
        training = data.take(np.setdiff1d(np.arange(len(data.papers)), part))
        test = data.take(part)
        scores = train_trees(training.signals, training.relevant, settings).scores_after(
            test.signals, steps, threads=settings.threads
        )
        values_by_part.append([score_values(matrix, test.relevant, test.counts) for matrix in scores])
    measured = data.take(np.concatenate(parts))
    by_trees = [np.concatenate(values) for values in zip(*values_by_part, strict=True)]
    best = _best_step(by_trees, measured.papers)
    values, trees = by_trees[best], steps[best]
    rivals = {
        name: score_values(measured.signals[name], measured.relevant, measured.counts) for name in against
    }
    orders = {f"{name} ": rival for name, rival in rivals.items()} | {"": values}
    metrics = {
        f"{prefix}{metric}": value
        for prefix, order in orders.items()
        for metric, value in metric_means(order).items()
    }
    note = f"{kind} {stage}: all {trees} trees are kept: fewer were not better by more than chance"
    if trees < settings.trees:
        note = f"{kind} {stage}: {trees} of {settings.trees} trees are kept: more were worse"
        settings = settings.model_copy(update={"trees": trees})
    comparison = compare_stages(stage, against[0], kind, values, rivals[against[0]], measured.papers)
    return MeasuredFusion(train_trees(data.signals, data.relevant, settings), metrics, comparison, note)


def _best_step(by_trees: Sequence[Values], papers: NDArray[np.int32]) -> int:
    """The number of trees that orders held-out queries best.

    It is the last unless another is better by more than chance: the 95 % interval of the difference in the mean of the
    three metrics lies below 0.
    """
    best = int(np.argmax([sum(metric_means(values).values()) for values in by_trees]))
    comparison = compare_stages("all trees", "fewer", "", by_trees[-1], by_trees[best], papers)
    return best if comparison.differences["mean"][1] < 0 else len(by_trees) - 1

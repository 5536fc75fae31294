"""Learned fusion: LambdaMART over all signals of a candidate.

Gradient-boosted trees trained to order each query's candidates (Burges, 2010: "From RankNet to LambdaRank to
LambdaMART"), by LightGBM. Cheap enough for everyone, and the last word when a costly model has spoken: its score is
one more signal.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.artifacts import publish
from cocite.bounds import Penalty, PositiveShare, Seed, Threads, Total
from cocite.config import Settings
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_json
from cocite.protocols import Ranking, require_finite
from cocite.verification import open_verified

if TYPE_CHECKING:
    import lightgbm  # half a second, with scikit-learn and pandas: where trees are grown or read, and nowhere else

KIND = "learned-fusion"
QUERY_KINDS = ("local", "global")
SMALL = 10_000_000
"""Values of a training table up to which one thread grows the trees."""


class FusionSettings(Settings):
    """How the trees are grown."""

    trees: int = Field(250, ge=1, le=10_000)
    """Boosting rounds."""
    learning_rate: PositiveShare = 0.05
    """Weight of each tree."""
    leaves: int = Field(31, ge=2, le=1024)
    """Leaves of a tree."""
    least_in_leaf: Total = 50
    """Candidates that a leaf must hold."""
    truncation: Total = 20
    """Positions at the top whose order counts in training."""
    feature_share: PositiveShare = 0.5
    """Share of the signals that each tree may use."""
    query_share: PositiveShare = 0.8
    """Share of the candidates that each tree sees."""
    bins: int = Field(63, ge=3, le=65_535)
    """Distinct values that a signal is rounded to."""
    l2: Penalty = 1.0
    """L2 regularisation of the leaves' values."""
    seed: Seed = 0
    """Of all draws."""
    threads: Threads = 2
    """CPU threads."""


@dataclass(frozen=True)
class LearnedFusion:
    """A trained LambdaMART.

    Attributes:
        booster: the trees.
        names: the signals they read, in order.
        depth: candidates of a query that it was trained to order; 0 when that is not known.
    """

    booster: lightgbm.Booster
    names: tuple[str, ...]
    depth: int = 0

    def scores(self, signals: Mapping[str, NDArray[np.float32]], *, threads: int = 1) -> NDArray[np.float32]:
        """(Q, k) scores from signals that are (Q, k) each; raises when one it reads is missing."""
        table = self._table(signals)
        flat = self.booster.predict(table.reshape(-1, table.shape[-1]), num_threads=threads)
        scores = np.asarray(flat, np.float32).reshape(table.shape[:2])
        require_finite(scores, "learned fusion", "scores")
        return scores

    def scores_after(
        self, signals: Mapping[str, NDArray[np.float32]], trees: Sequence[int], *, threads: int = 1
    ) -> list[NDArray[np.float32]]:
        """(Q, k) scores of the first trees alone, for each of some ascending numbers of them."""
        table = self._table(signals)
        flat, total = table.reshape(-1, table.shape[-1]), np.zeros(table.shape[:2])
        result = []
        for first, last in itertools.pairwise([0, *trees]):
            part = self.booster.predict(
                flat, start_iteration=first, num_iteration=last - first, num_threads=threads
            )
            total = total + np.asarray(part).reshape(total.shape)
            result.append(total.astype(np.float32))
        return result

    def _table(self, signals: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """(Q, k, F) the signals it reads; raises when one is missing."""
        missing = [name for name in self.names if name not in signals]
        if missing:
            raise InputError(
                f"the learned fusion reads the signal {missing[0]!r}, which nothing provides",
                hint="use it with the members and the index it was trained with, or train the fusion again",
            )
        return stacked(signals, self.names)

    def importance(self) -> list[tuple[str, float]]:
        """Each signal's share of the total gain, largest first."""
        gain = self.booster.feature_importance("gain")
        total = gain.sum() or 1.0
        order = np.argsort(-gain, kind="stable")
        return [(self.names[i], float(gain[i] / total)) for i in order]

    @staticmethod
    def save_all(folder: Path, fusions: Mapping[str, LearnedFusion], meta: dict[str, Any]) -> None:
        """Write the fusions by kind of query as one artifact, LightGBM's text format and JSON."""
        with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
            for kind, fusion in fusions.items():
                # Its own save_model prints on standard output when the disk is full.
                (temporary / f"{kind}.txt").write_text(fusion.booster.model_to_string())
                known = {"signals": fusion.names, "depth": fusion.depth}
                (temporary / f"{kind}.json").write_text(json.dumps(known, indent=1) + "\n")

    @classmethod
    def load_all(cls, folder: Path) -> dict[str, LearnedFusion]:
        """Read what :meth:`save_all` wrote."""
        import lightgbm

        open_verified(folder, kind=KIND)
        result = {}
        for kind in QUERY_KINDS:
            path = folder / f"{kind}.txt"
            if path.exists():
                try:
                    booster = lightgbm.Booster(model_file=str(path))
                except lightgbm.basic.LightGBMError as error:
                    raise IntegrityError(f"not a LightGBM model: {error}", where=str(path)) from error
                known = read_json(folder / f"{kind}.json")
                result[kind] = cls(booster, tuple(known["signals"]), known.get("depth", 0))
        return result


def stacked(signals: Mapping[str, NDArray[np.float32]], names: Sequence[str]) -> NDArray[np.float32]:
    """(Q, k, F) the named signals side by side."""
    return np.stack([signals[name] for name in names], axis=-1)


def train(
    signals: Mapping[str, NDArray[np.float32]],
    relevant: NDArray[np.bool_],
    settings: FusionSettings | None = None,
    *,
    names: Sequence[str] | None = None,
    after: Callable[[lightgbm.Booster, int], object] | None = None,
) -> LearnedFusion:
    """Train on the candidates of some queries.

    Args:
        signals: name -> (Q, k).
        relevant: (Q, k) which candidates the query cites; queries without any teach nothing and are left out.
        settings: how the trees are grown.
        names: which signals to read, in what order; all, sorted, by default.
        after: told the booster and how many trees it has, after each of them.
    """
    import lightgbm

    settings = settings or FusionSettings()
    names = tuple(sorted(signals) if names is None else names)
    taught = relevant.any(axis=1)
    if not taught.any():
        raise InputError(
            "no query has a cited paper among its candidates", hint="give more queries or a greater depth"
        )
    table = stacked(signals, names)[taught]
    queries, depth, width = table.shape
    data = lightgbm.Dataset(
        table.reshape(-1, width), relevant[taught].ravel().astype(np.int8), group=np.full(queries, depth)
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
        "num_threads": settings.threads if table.size > SMALL else 1,
        "max_bin": settings.bins,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    told = [lambda state: after(state.model, state.iteration + 1)] if after else None
    booster = lightgbm.train(parameters, data, num_boost_round=settings.trees, callbacks=told)
    return LearnedFusion(booster, names, depth)


def labels(ranking: Ranking, indptr: NDArray[np.int64], entries: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(Q, k) whether each candidate is among its query's relevant rows ``entries[indptr[i] : indptr[i + 1]]``."""
    width = np.int64(max(int(ranking.rows.max(initial=0)), int(entries.max(initial=0))) + 1)
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    known = owner * width + entries
    wanted = np.arange(len(ranking))[:, None] * width + ranking.rows
    return np.isin(wanted, known) & (ranking.rows >= 0)

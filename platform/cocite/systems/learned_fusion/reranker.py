"""A learned fusion at work: it scores candidates by all their signals, and is saved and loaded.

The trees are a LambdaMART (Burges 2010), grown by LightGBM. They are cheap enough to score every candidate; behind a
costly model they combine its score, one more signal, with the others.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import publish
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_json
from cocite.protocols import require_finite
from cocite.verification import open_verified

if TYPE_CHECKING:
    import lightgbm  # half a second, with scikit-learn and pandas: only where trees are grown or read

KIND = "learned-fusion"
QUERY_KINDS = ("local", "global")


@dataclass(frozen=True)
class LearnedFusion:
    """A trained LambdaMART.

    Attributes:
        booster: the trees.
        names: the signals they read, in order.
        depth: candidates of a query that it was trained to order; 0 when that is not known.

    Example:
        >>> from cocite.systems.learned_fusion.recipe import FusionSettings
        >>> from cocite.systems.learned_fusion.task import train_trees
        >>> rng = np.random.default_rng(0)
        >>> relevant = rng.random((50, 10)) < 0.2
        >>> bm25 = (relevant + rng.normal(0, 0.1, relevant.shape)).astype(np.float32)
        >>> fusion = train_trees({"bm25": bm25}, relevant, FusionSettings(trees=5, threads=1))
        >>> low_and_high = fusion.scores({"bm25": np.array([[0.0, 1.0]], np.float32)})
        >>> bool(low_and_high[0, 1] > low_and_high[0, 0])
        True
        >>> fusion.scores({"votes": bm25})
        Traceback (most recent call last):
        cocite.errors.InputError: the learned fusion reads the signal 'bm25', which nothing provides ...
    """

    booster: lightgbm.Booster
    names: tuple[str, ...]
    depth: int = 0

    def scores(self, signals: Mapping[str, NDArray[np.float32]], *, threads: int = 1) -> NDArray[np.float32]:
        """(Q, k) scores from signals of (Q, k) each.

        Raises:
            InputError: a signal that it reads is missing.
            IntegrityError: a score is not finite.
        """
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
            # Only the trees that this step adds: all from the first on would be run for each step again.
            part = self.booster.predict(
                flat, start_iteration=first, num_iteration=last - first, num_threads=threads
            )
            total = total + np.asarray(part).reshape(total.shape)
            result.append(total.astype(np.float32))
        return result

    def _table(self, signals: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """(Q, k, F) the signals that it reads; raises InputError when one is missing."""
        missing = [name for name in self.names if name not in signals]
        if missing:
            raise InputError(
                f"the learned fusion reads the signal {missing[0]!r}, which nothing provides",
                hint="use it with the components and the index it was trained with, or train the fusion again",
            )
        return stack_signals(signals, self.names)

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
        """Read the fusions that :meth:`save_all` wrote, by kind of query.

        Raises:
            CociteError: there is no such artifact, or it is damaged.
        """
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


def stack_signals(signals: Mapping[str, NDArray[np.float32]], names: Sequence[str]) -> NDArray[np.float32]:
    """(Q, k, F) the named signals side by side."""
    return np.stack([signals[name] for name in names], axis=-1)

"""The component ``confidence`` at work: the score of the last stage becomes a probability, by kind of query and stage.

A candidate's score and its share of the query's candidates (the logarithm of the softmax of their scores) are added up
to one number, which a rising function maps to a probability. The score of a LambdaMART orders the candidates of one
query; the share makes it comparable between queries. All numbers are read from JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.artifacts import publish
from cocite.atomic_files import write_atomic
from cocite.bounds import Name
from cocite.config import Settings
from cocite.manifests import read_json
from cocite.verification import open_verified

KIND = "confidence"
FILE = "calibrations.json"
FEATURES = ("score", "share")
"""What is known of a candidate, in the order of :func:`list_features`."""
MOST_POINTS = 1000
"""Points of a rising function."""
Weight = Annotated[float, Field(ge=-1e6, le=1e6)]
Matrix = NDArray[np.float64]


def list_features(scores: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(Q, k, 2) what is known of each candidate of a list, as :data:`FEATURES` names it.

    Args:
        scores: (Q, k), in any order; ``-inf`` marks padding, whose features mean nothing.

    Example:
        >>> features = list_features(np.array([[1.0, 3.0, -np.inf]]))
        >>> features[0, :2].round(2).tolist()
        [[1.0, -2.13], [3.0, -0.13]]
    """
    values = np.asarray(scores, np.float64)
    known = np.isfinite(values)
    best = np.where(known, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    best = np.where(np.isfinite(best), best, 0)
    filled = np.where(known, values, best)
    total = np.log(np.maximum(np.where(known, np.exp(filled - best), 0).sum(axis=1, keepdims=True), 1))
    return np.stack([filled, filled - best - total], axis=-1)


def list_ranks(scores: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """(Q, k) the rank of each candidate by its score, from 0; of equal ones the first is before the other.

    Example:
        >>> list_ranks(np.array([[1.0, 3.0, -np.inf]])).tolist()
        [[1, 0, 2]]
    """
    order = np.argsort(-np.asarray(scores), axis=1, kind="stable")
    ranks = np.empty(order.shape, np.int64)
    np.put_along_axis(ranks, order, np.arange(order.shape[1])[None], 1)
    return ranks


class Calibration(Settings):
    """What makes probabilities of the scores of one stage, for queries of one kind.

    Example:
        >>> calibration = Calibration(
        ...     weights=(1.0, 0.0), points=(-1.0, 1.0), probabilities=(0.1, 0.7), ranks=2, depth=300,
        ... )
        >>> calibration.probabilities_of(np.array([[0.0, 5.0, -3.0]])).round(2).tolist()
        [[0.4, 0.7, nan]]
    """

    weights: tuple[Weight, Weight]
    """Of each feature."""
    points: Annotated[
        tuple[Annotated[float, Field(ge=-1e9, le=1e9)], ...], Field(min_length=1, max_length=MOST_POINTS)
    ]
    """Sums whose probability is known, rising; between two of them it is interpolated."""
    probabilities: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1, max_length=MOST_POINTS)
    ]
    """The probability at each point, never falling."""
    ranks: int = Field(ge=1, le=1000)
    """Number of best candidates that it was fitted to: the others have no probability."""
    depth: int = Field(ge=1, le=100_000)
    """Candidates of each query that it was fitted with."""
    rerank: int = Field(0, ge=0, le=1000)
    """How many of them the cross-encoder read: the others have no probability; 0: it does not matter."""
    by_rank: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(max_length=1000)] = ()
    """The share of cited papers at each rank, whatever the score: what the probabilities are compared with."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.points) != len(self.probabilities):
            raise ValueError(f"{len(self.points)} points have {len(self.probabilities)} probabilities")
        if np.any(np.diff(self.points) <= 0) or np.any(np.diff(self.probabilities) < 0):
            raise ValueError("points and probabilities do not rise")
        return self

    def probabilities_of(self, scores: NDArray[np.floating[Any]]) -> Matrix:
        """(Q, k) probabilities from scores (Q, k), ``-inf`` marking padding; NaN where none is known."""
        sums = list_features(scores) @ np.array(self.weights)
        values = np.interp(sums, self.points, self.probabilities)
        known = np.isfinite(scores) & (list_ranks(scores) < self.ranks)
        return np.where(known, values, np.nan)


class Confidence(Settings):
    """The component ``confidence`` of a model folder: a calibration for each kind of query and last stage.

    Example:
        >>> import tempfile
        >>> flat = Calibration(weights=(0, 0), points=(0,), probabilities=(0.2,), ranks=20, depth=300)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Confidence(calibrations={"local": {"fusion": flat}}).save(Path(folder) / "confidence", {})
        ...     confidence = Confidence.read(Path(folder) / "confidence")
        >>> confidence.of("local", "fusion").probabilities, confidence.of("global", "fusion")
        ((0.2,), None)
    """

    calibrations: Annotated[
        dict[Name, Annotated[dict[Name, Calibration], Field(min_length=1, max_length=10)]],
        Field(min_length=1, max_length=10),
    ]
    """Kind of query -> last stage -> what makes probabilities of its score."""

    def of(self, kind: str, stage: str) -> Calibration | None:
        """The calibration for queries of a kind whose candidates a stage orders last; None where there is none."""
        return self.calibrations.get(kind, {}).get(stage)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the artifact.

        Raises:
            ConfigError: a value is not a number in bounds, or a key is unknown.
        """
        open_verified(folder, kind=KIND)
        return cls.parse(read_json(folder / FILE), where=str(folder / FILE))

    def save(self, folder: Path, meta: dict[str, Any]) -> None:
        """Write the artifact, replacing an earlier one; ``meta`` says what it was fitted to."""
        with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
            write_atomic(temporary / FILE, json.dumps(self.model_dump(mode="json"), indent=1) + "\n")

"""The trained classifier: the probability that a sentence needs a citation; saved as safetensors and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.artifacts import publish
from cocite.bounds import Share
from cocite.config import Settings
from cocite.errors import IntegrityError
from cocite.manifests import read_json
from cocite.protocols import require_finite
from cocite.systems.citing_sentences.features import Features, TextSentence, vectors
from cocite.systems.citing_sentences.quality import Quality
from cocite.verification import open_verified

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

KIND = "citing-sentences"
"""Of the artifact, and its name in a model folder."""
_SETTINGS, _WEIGHTS = "classifier.json", "weights.safetensors"


class ClassifierSettings(Settings):
    """What a classifier reads, and where it says yes.

    Example:
        >>> ClassifierSettings(features=("words",), width=1024, threshold=0.25).threshold
        0.25
    """

    features: Features
    """What is read of a sentence, and around it."""
    width: int = Field(ge=256, le=2**24)
    """Numbers that the features are hashed to."""
    threshold: Share
    """Probability from which a sentence is taken to need a citation: that of the best F1 on dev."""


@dataclass(frozen=True)
class CitingSentenceClassifier:
    """A logistic regression over hashed features.

    Attributes:
        settings: what it reads.
        weights: (width,) float32 weight of each feature.
        intercept: log-odds of a sentence without features.
        quality: how often it is right; None: not measured, or not loaded from a folder.

    Raises:
        ValueError: the weights do not have the width of the settings.

    Example:
        >>> from cocite.systems.citing_sentences.features import sentences_of
        >>> settings = ClassifierSettings(features=("words",), width=256, threshold=0.5)
        >>> classifier = CitingSentenceClassifier(settings, np.zeros(256, np.float32), 0.0)
        >>> classifier.probabilities([sentences_of(["We parse all of the treebank."], ["Data"])]).tolist()
        [0.5]
    """

    settings: ClassifierSettings
    weights: NDArray[np.float32]
    intercept: float
    quality: Quality | None = None

    def __post_init__(self) -> None:
        if self.weights.shape != (self.settings.width,):
            raise ValueError(f"weights of {self.weights.shape} where the width is {self.settings.width}")

    def probabilities(self, papers: Sequence[Sequence[TextSentence]]) -> NDArray[np.float64]:
        """(S,) the probability of each sentence of some texts, one text behind the other."""
        return self.of_vectors(vectors(papers, self.settings.features, self.settings.width))

    def of_vectors(self, made: csr_matrix) -> NDArray[np.float64]:
        """(S,) the probability of each vector of ``made``, (S, width)."""
        scores: NDArray[np.float64] = made @ self.weights.astype(np.float64) + self.intercept
        require_finite(scores, KIND, "scores")
        # exp of a large number is infinite, which is right here, and numpy warns of it.
        return 1.0 / (1.0 + np.exp(-np.clip(scores, -500, 500)))

    def save(self, folder: Path, meta: dict[str, Any]) -> None:
        """Write it as an artifact."""
        from safetensors.numpy import save_file

        with publish(folder, kind=KIND, meta=meta, replace=folder.exists()) as temporary:
            arrays: dict[str, NDArray[Any]] = {
                "weights": self.weights,
                "intercept": np.array([self.intercept], np.float64),
            }
            save_file(arrays, temporary / _WEIGHTS)
            text = self.settings.model_dump_json(indent=1) + "\n"
            (temporary / _SETTINGS).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> CitingSentenceClassifier:
        """Read what :meth:`save` wrote.

        Raises:
            CociteError: there is no such artifact, or it is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        quality = Quality.of_meta(open_verified(folder, kind=KIND).meta)
        settings = ClassifierSettings.parse(read_json(folder / _SETTINGS), where=str(folder / _SETTINGS))
        try:
            arrays = load_file(folder / _WEIGHTS)
            weights, intercept = arrays["weights"], float(arrays["intercept"][0])
            return cls(settings, np.asarray(weights, np.float32), intercept, quality)
        except (SafetensorError, KeyError, IndexError, ValueError) as error:
            raise IntegrityError(
                f"does not fit its settings: {error}", where=str(folder / _WEIGHTS), hint="train it again"
            ) from error

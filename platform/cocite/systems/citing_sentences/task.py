"""Trains a classifier of citing sentences, chooses its threshold on dev, and measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cocite.systems.citing_sentences.classifier import CitingSentenceClassifier, ClassifierSettings
from cocite.systems.citing_sentences.recipe import CitingSentencesRecipe

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def train_classifier(
    made: csr_matrix, cites: NDArray[np.bool_], recipe: CitingSentencesRecipe
) -> CitingSentenceClassifier:
    """A logistic regression, fitted by averaged stochastic gradient descent; its threshold is 0.5.

    Args:
        made: (S, width) vectors of the sentences.
        cites: (S,) whether they cite.
        recipe: the settings.
    """
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="log_loss",
        alpha=recipe.l2,
        max_iter=recipe.epochs,
        tol=None,
        average=True,
        random_state=recipe.seed,
    ).fit(made, cites)
    settings = ClassifierSettings(features=recipe.features, width=recipe.width, threshold=0.5)
    return CitingSentenceClassifier(settings, model.coef_[0].astype(np.float32), float(model.intercept_[0]))


def best_threshold(probabilities: NDArray[np.floating], cites: NDArray[np.bool_]) -> float:
    """The probability from which a yes gives the best F1.

    Args:
        probabilities: (S,) of some sentences.
        cites: (S,) whether they cite; at least one does.

    Example:
        >>> best_threshold(np.array([0.9, 0.4, 0.3, 0.1]), np.array([True, True, False, False]))
        0.4
    """
    from sklearn.metrics import precision_recall_curve

    precision, recall, thresholds = precision_recall_curve(cites, probabilities)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return float(thresholds[np.argmax(f1[:-1])])


def measure(
    probabilities: NDArray[np.floating], cites: NDArray[np.bool_], threshold: float
) -> dict[str, float]:
    """F1, precision and recall of a yes from ``threshold`` on, and the best precision at a recall of at least .5.

    Args:
        probabilities: (S,) of some sentences.
        cites: (S,) whether they cite; at least one does.
        threshold: chosen on other sentences.

    Example:
        >>> measured = measure(np.array([0.9, 0.4, 0.3, 0.1]), np.array([True, False, True, False]), 0.35)
        >>> measured["F1"], measured["P at R .5"]
        (0.5, 1.0)
    """
    from sklearn.metrics import precision_recall_curve

    yes = probabilities >= threshold
    right = int((yes & cites).sum())
    precision, recall = right / max(1, int(yes.sum())), right / int(cites.sum())
    curve, recalls, _ = precision_recall_curve(cites, probabilities)
    return {
        "F1": 2 * right / int(yes.sum() + cites.sum()),
        "P": precision,
        "R": recall,
        "P at R .5": float(curve[recalls >= 0.5].max()),
    }


def sample_negatives(cites: NDArray[np.bool_], negatives: int, seed: int) -> NDArray[np.int64]:
    """Positions of all sentences that cite, and of ``negatives`` times as many others, drawn; 0: of all.

    Example:
        >>> sample_negatives(np.array([True, False, False, False]), 2, seed=0).size
        3
    """
    if not negatives:
        return np.arange(len(cites))
    others = np.flatnonzero(~cites)
    count = min(len(others), negatives * int(cites.sum()))
    drawn = np.random.default_rng(seed).choice(others, count, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(cites), drawn]))

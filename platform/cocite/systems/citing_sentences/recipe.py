"""All settings of the training of a citing-sentence classifier."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cocite.bounds import Penalty, Seed, Total
from cocite.config import Settings
from cocite.systems.citing_sentences.features import Features


class CitingSentencesRecipe(Settings):
    """How a classifier of sentences that need a citation is trained.

    Example:
        >>> recipe = CitingSentencesRecipe.parse({"kind": "citing-sentences", "train": 100}, where="recipe.yaml")
        >>> recipe.train, recipe.negatives
        (100, 0)
    """

    kind: Literal["citing-sentences"] = "citing-sentences"
    features: Features = ("words", "section", "position", "neighbours", "novelty")
    """What is read of a sentence, and around it."""
    train: Total = 4000
    """Most papers of the train split that are learned from, drawn with the seed."""
    held_out: Total = 700
    """Most papers of dev, on which the threshold is chosen, and of test, on which the classifier is measured."""
    incomplete: bool = False
    """Whether sentences that lack a word without their citation, as their subject or after a preposition, are learned
    from and measured too. Nobody writes such sentences into a draft, and they are easily told from others."""
    width: int = Field(2**20, ge=256, le=2**24)
    """Numbers that the features are hashed to; each has a weight of four bytes."""
    epochs: int = Field(8, ge=1, le=1000)
    """Passes over the sentences."""
    l2: Penalty = 1e-6
    """L2 regularisation of the weights."""
    negatives: int = Field(0, ge=0, le=1000)
    """Sentences that do not cite for each that does, in training and in measuring; 0: as many as there are. A
    classifier that is used has to know how rare citations are, so anything else is for comparisons."""
    seed: Seed = 0
    """Seed of the draws and of the order of the sentences."""

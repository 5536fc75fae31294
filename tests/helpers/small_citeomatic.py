"""A Citeomatic model that trains in seconds."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.training.train import train


def train_small_citeomatic(corpus: Corpus, folder: Path) -> Path:
    """Train NNSelect and NNRank of a few dimensions for one epoch into a model folder."""
    training = {"epochs": 1}
    train(NNSelectRecipe.parse({"model": {"dimension": 8}, "training": training}), corpus, folder)
    model = {"dimension": 8, "metadata_dimension": 4, "hidden": [4, 4]}
    rank = {"model": model, "training": training, "candidates": {"neighbours": 10}, "keep": "always"}
    train(NNRankRecipe.parse(rank), corpus, folder)
    return folder

"""A Citeomatic model that trains in seconds."""

from __future__ import annotations

from pathlib import Path

from cocite.config import with_overrides
from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.training.train import train


def small_nnrank(*overrides: str) -> NNRankRecipe:
    """The recipe of an NNRank of a few dimensions, trained for one epoch."""
    data = {
        "model": {"dimension": 8, "metadata_dimension": 4, "hidden": [4, 4]},
        "training": {"epochs": 1},
        "candidates": {"neighbours": 10},
        "keep": "always",
    }
    return NNRankRecipe.parse(with_overrides(data, overrides))


def train_small_citeomatic(corpus: Corpus, folder: Path, *overrides: str) -> Path:
    """Train NNSelect and NNRank of a few dimensions for one epoch into a model folder; overrides are of NNRank."""
    select = {"model": {"dimension": 8}, "training": {"epochs": 1}}
    train(NNSelectRecipe.parse(select), corpus, folder)
    train(small_nnrank(*overrides), corpus, folder)
    return folder

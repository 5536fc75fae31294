"""Small HAtten models and trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from cocite.corpus.store import Corpus
from cocite.systems.hatten.base_task import HattenTask
from cocite.systems.hatten.network import Hatten, HattenModelSettings
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.task import build
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions

TRIPLETS = {"objective": "paper", "contexts": 1, "mined": 4, "random": 1, "depth": 20, "overlap": 0.2}
"""The objective of the paper."""


def small_hatten(words: int = 50, **settings: object) -> Hatten:
    """A model in evaluation mode, no parameter of which has the special value that training starts from."""
    torch.manual_seed(0)
    small = {"dimension": 12, "heads": 3, "feed_forward": 20, "positions": 64}
    model = Hatten(words, HattenModelSettings.parse({**small, **settings}))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


def hatten_recipe(**sections: Any) -> HattenRecipe:
    """A recipe for a corpus of some hundred papers, with some settings changed."""
    data: dict[str, Any] = {
        "period": {"train_until": 2015},
        "dev_contexts": 60,
        "paragraphs": {"vocabulary_size": 2000, "max_abstract": 40},
        "words": {"source": "random"},
        "model": {"dimension": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0},
        "objective": {"contexts": 3, "random": 1},
        "training": {"batch": 24, "tokens": 100_000, "optimizer": {"learning_rate": 5e-3}},
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return HattenRecipe.parse({"kind": "hatten", **data})


def hatten_task(corpus: Corpus, folder: Path, **sections: Any) -> HattenTask:
    """The task of such a recipe."""
    return build_hatten(hatten_recipe(**sections), corpus, folder)


def build_hatten(recipe: HattenRecipe, corpus: Corpus, folder: Path) -> HattenTask:
    """The task of a recipe, after its texts and its word vectors were made in the folder."""
    prepare_inputs(recipe, corpus, Location.of(folder), ProgressFunctions())
    return build(recipe, corpus, folder)

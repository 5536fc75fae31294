"""Recipes of small MP-BERT4CR trainings, for a corpus of some hundred papers up to 2019."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr import citations
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.task import build

TEXTS = {"vocabulary": 400, "sentence_tokens": 24, "period": {"train_until": 2015}}
SHAPE = {"sentence_layers": 1, "document_layers": 1, "hidden": 24, "heads": 2, "inner": 48, "dropout": 0.0}
SHAPE |= {"norm": "pre", "sentence_tokens": 24, "sentences": 12}


def mp_bert4cr_recipe(**sections: Any) -> MpBert4crRecipe:
    """A recipe of fine-tuning, with some settings changed."""
    data: dict[str, Any] = {
        "texts": TEXTS,
        "contexts": {"earlier": 3, "abstract": 4, "body": 2},
        "dev_contexts": 60,
        "model": SHAPE,
        "training": {
            "batch": 32,
            "tokens": 20_000,
            "optimizer": {"learning_rate": 3e-3},
            "schedule": {"warmup": 2},
        },
    }
    return MpBert4crRecipe.parse({"kind": "mp-bert4cr", **_changed(data, sections)})


def prepared_task(recipe: MpBert4crRecipe, corpus: Corpus, folder: Path) -> MpBert4crTask:
    """The task of a recipe, in a model folder that has its sentences; its citations are made where others are there."""
    citations.prepare(recipe.citations, corpus, folder / citations.KIND)
    return build(recipe, corpus, folder)


def pretraining_recipe(**sections: Any) -> HierarchicalPretrainingRecipe:
    """A recipe of pretraining, with some settings changed."""
    data: dict[str, Any] = {
        "texts": TEXTS,
        "documents": {"sentences": 8, "least": 2, "dev": 20},
        "model": SHAPE | {"sentences": 10},
        "decoder_layers": 1,
        "training": {
            "batch": 12,
            "tokens": 20_000,
            "optimizer": {"learning_rate": 1e-2},
            "schedule": {"shape": "inverse-square-root", "warmup": 5},
        },
    }
    return HierarchicalPretrainingRecipe.parse(_changed(data, sections))


def _changed(data: dict[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return data

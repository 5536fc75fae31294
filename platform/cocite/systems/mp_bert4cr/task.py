"""Builds the task of an MP-BERT4CR recipe: what the training engine trains."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.initial_weights import initialise
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.shared_negatives_task import SharedNegativesTask
from cocite.training.periods import Periods

__all__ = ["MpBert4crRecipe", "build"]


def build(recipe: MpBert4crRecipe, corpus: Corpus, model_folder: Path) -> MpBert4crTask:
    """The task of a recipe, on the sentences of the model folder.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the sentences and, where the recipe names them so, pretrained weights.

    Raises:
        NotFoundError: the model folder has no sentences, or there are no such pretrained weights.
        ConfigError: the pretrained weights are of another shape or vocabulary.
        InputError: there is nothing to train or to tune on.
    """
    texts = load_from_model_folder(model_folder, corpus)
    periods = Periods.of(corpus, recipe.texts.period, all_dev=True)
    task = (SharedNegativesTask if recipe.negatives.shared else MpBert4crTask)(recipe, periods, texts)
    initialise(task.model, recipe, model_folder, periods.history, texts)
    return task

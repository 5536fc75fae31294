"""Builds the task of an MP-BERT4CR recipe: what the training engine trains."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr import citations
from cocite.systems.mp_bert4cr.initial_weights import initialise
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.sentence_vectors import with_sentence_vectors
from cocite.systems.mp_bert4cr.shared_negatives_task import SharedNegativesTask

__all__ = ["MpBert4crRecipe", "build"]


def build(recipe: MpBert4crRecipe, corpus: Corpus, model_folder: Path) -> MpBert4crTask:
    """The task of a recipe, on the sentences of the model folder.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the sentences, the citations and, where the recipe names them so, word vectors and pretrained
            weights.

    Raises:
        NotFoundError: the model folder has no sentences or citations, or there are no such pretrained weights.
        ConfigError: the pretrained weights are of another shape or vocabulary.
        InputError: the sentences or citations were made of another corpus, or with other settings.
    """
    found = citations.load(model_folder, corpus, recipe.citations)
    texts = load_from_model_folder(model_folder, corpus, of_contexts=(found.links.citing, found.sentences))
    texts = citations.with_near(texts, found.near)
    recipe, texts = with_sentence_vectors(recipe, corpus, model_folder, texts)
    task = (SharedNegativesTask if recipe.negatives.shared else MpBert4crTask)(recipe, corpus, found, texts)
    initialise(task.model, recipe, model_folder, corpus, texts)
    task.model_folder = model_folder
    return task

"""NNSelect as a kind of training: the task that a recipe makes of a corpus."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.nnselect.in_batch_task import InBatchNNSelectTask
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.triplet_task import TripletNNSelectTask
from cocite.systems.citeomatic.paper_words import fields_of
from cocite.text.fields import FieldEncoder
from cocite.training.periods import Periods

__all__ = ["NNSelectRecipe", "build"]


def build(
    recipe: NNSelectRecipe,
    corpus: Corpus,
    model_folder: Path | None = None,
) -> InBatchNNSelectTask | TripletNNSelectTask:
    """The task of a recipe, on the words that the model folder has, if any.

    Raises:
        InputError: there is nothing to train or to tune on.
    """
    periods = Periods.of(corpus, recipe.period)
    return nnselect_task(recipe, periods, fields_of(recipe.words, periods, model_folder))


def nnselect_task(
    recipe: NNSelectRecipe, periods: Periods, fields: FieldEncoder
) -> InBatchNNSelectTask | TripletNNSelectTask:
    """The task of a recipe's objective.

    Args:
        recipe: settings.
        periods: what is known, and the dev queries.
        fields: numbers the words.
    """
    task = InBatchNNSelectTask if recipe.objective.objective == "in_batch" else TripletNNSelectTask
    return task(recipe, periods, fields)

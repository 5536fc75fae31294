"""HAtten as a kind of training: its recipe, and the task that a recipe makes."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.nn.word_vectors import initial_vectors
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.task import InBatchTask, TripletTask
from cocite.text.paragraph_reader import ParagraphReader
from cocite.training.periods import Periods

__all__ = ["HattenRecipe", "build"]


def build(recipe: HattenRecipe, corpus: Corpus, model_folder: Path) -> InBatchTask | TripletTask:
    """The task of a recipe; the model folder keeps the word vectors that were trained for it.

    Raises:
        InputError: there is nothing to train or to tune on, or no word vectors can be had.
    """
    periods = Periods.of(corpus, recipe.period, all_dev=True)
    bodies = recipe.words.source == "corpus"
    reader = ParagraphReader.build(periods.history, recipe.paragraphs, bodies=bodies)
    vectors = initial_vectors(
        recipe.words,
        periods.history,
        reader,
        recipe.model.dimension,
        Path(model_folder),
        seed=recipe.training.seed,
    )
    task = InBatchTask if recipe.objective.objective == "in_batch" else TripletTask
    return task(recipe, periods, reader, vectors)

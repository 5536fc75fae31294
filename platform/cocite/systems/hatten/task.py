"""Builds the task of a HAtten recipe: what the training engine trains."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.nn.word_vectors import initial_vectors
from cocite.systems.hatten.in_batch_task import InBatchTask
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.triplet_task import TripletTask
from cocite.text.paragraph_reader import ParagraphReader
from cocite.training.periods import Periods

__all__ = ["HattenRecipe", "build"]


def build(recipe: HattenRecipe, corpus: Corpus, model_folder: Path) -> InBatchTask | TripletTask:
    """The task of a recipe; the model folder keeps the word vectors that were trained for it.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: where trained word vectors are kept.

    Raises:
        InputError: there is nothing to train or to tune on, or no word vectors can be had.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> type(task).__name__, task.metric
        ('InBatchTask', 'R@100')
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

"""Builds the task of a HAtten recipe: what the training engine trains."""

from __future__ import annotations

from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.systems.hatten.in_batch_task import InBatchTask
from cocite.systems.hatten.initial_vectors import initial_vectors
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.texts import load
from cocite.systems.hatten.triplet_task import TripletTask

__all__ = ["HattenRecipe", "build"]


def build(recipe: HattenRecipe, corpus: Corpus, model_folder: Path) -> InBatchTask | TripletTask:
    """The task of a recipe, on the texts and the word vectors of the model folder.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the texts and the word vectors.

    Raises:
        NotFoundError: the model folder lacks one of them.
        InputError: one of them was made of another corpus, or with other settings.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.hatten.texts import prepare
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "hatten-texts"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> type(task).__name__, task.metric
        ('InBatchTask', 'R@100')
    """
    texts = load(model_folder, corpus, recipe.texts)
    vectors = initial_vectors(
        model_folder,
        corpus,
        recipe.word_vectors,
        texts.reader,
        recipe.model.dimension,
        seed=recipe.training.seed,
        rescaled=recipe.words.rescaled,
    )
    task = InBatchTask if recipe.objective.objective == "in_batch" else TripletTask
    return task(recipe, corpus, texts, vectors)

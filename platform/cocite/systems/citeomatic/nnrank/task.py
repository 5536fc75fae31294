"""NNRank as a kind of training: the task that a recipe makes of a corpus and the model folder's NNSelect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors, cross_fit
from cocite.systems.citeomatic.nnrank.listwise_task import ListwiseNNRankTask
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.triplet_task import TripletNNRankTask
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.paper_words import KnownPapers, fields_of
from cocite.text.fields import FieldEncoder
from cocite.training.periods import Periods

__all__ = ["NNRankRecipe", "build"]


def build(recipe: NNRankRecipe, corpus: Corpus, model_folder: Path) -> ListwiseNNRankTask | TripletNNRankTask:
    """The task of a recipe, on the NNSelect of the model folder.

    Raises:
        InputError: there is nothing to train or to tune on.
        NotFoundError: the model folder holds no NNSelect.
    """
    folder = Path(model_folder)
    encoder = load_encoder(folder)
    periods = Periods.of(corpus, recipe.period)
    fields = fields_of(recipe.words, periods, folder)
    if isinstance(fields, KnownPapers):  # trained on the same papers, both networks number words alike
        encoder = NNSelectEncoder(encoder.model, fields.known_for(encoder.fields), encoder.id)
    return nnrank_task(recipe, periods, fields, encoder, _fit_folds(recipe, periods, encoder, folder))


def nnrank_task(
    recipe: NNRankRecipe,
    periods: Periods,
    fields: FieldEncoder,
    encoder: NNSelectEncoder,
    fit_folds: Callable[..., FoldVectors] | None = None,
) -> ListwiseNNRankTask | TripletNNRankTask:
    """The task of a recipe's objective; see :class:`~.base_task.NNRankTask` for the arguments."""
    task = ListwiseNNRankTask if recipe.objective.objective == "listwise" else TripletNNRankTask
    return task(recipe, periods, fields, encoder, fit_folds)


def _fit_folds(
    recipe: NNRankRecipe, periods: Periods, encoder: NNSelectEncoder, folder: Path
) -> Callable[..., FoldVectors] | None:
    """The function that trains an NNSelect for each fold; None where the recipe or NNSelect has no use for folds."""
    meta = read_manifest(folder / "nnselect", kind="nnselect").meta
    epochs = int(meta["epoch"])  # 0: no training made NNSelect better, so it has seen no citation
    if not (recipe.objective.folds and recipe.model.nnselect and epochs):
        return None
    select = NNSelectRecipe.parse(meta["recipe"], where=str(folder / "nnselect"))
    return partial(cross_fit, select, periods, encoder.fields, recipe.objective.folds, epochs)

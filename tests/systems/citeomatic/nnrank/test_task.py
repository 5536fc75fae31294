from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.systems.citeomatic.nnrank.listwise_task import ListwiseNNRankTask
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.task import build
from cocite.systems.citeomatic.nnrank.triplet_task import TripletNNRankTask
from cocite.systems.citeomatic.nnselect.encoder import save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.text.fields import FieldEncoder


def folder_with(path: Path, nnselect: NNSelect, fields: FieldEncoder, epoch: int) -> Path:
    """A model folder with an NNSelect whose recipe is of an earlier version."""
    meta = {"epoch": epoch, "recipe": {"kind": "nnselect", "loop": {"epochs": 4}, "model": {"dimension": 8}}}
    save_nnselect(path / "nnselect", nnselect, fields, meta)
    return path


@pytest.mark.parametrize(
    ("objective", "task"), [("listwise", ListwiseNNRankTask), ("paper", TripletNNRankTask)]
)
def test_the_objective_decides_the_task(
    corpus: Corpus, tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder, objective: str, task: type
) -> None:
    recipe = NNRankRecipe.parse({"objective": {"objective": objective}, "candidates": {"neighbours": 5}})
    assert type(build(recipe, corpus, folder_with(tmp_path, nnselect, fields, 2))) is task


@pytest.mark.parametrize(
    ("epoch", "changes", "fitted"),
    [
        (2, {}, True),
        (0, {}, False),  # an NNSelect that has seen no citation knows none too well
        (2, {"objective": {"folds": 0}}, False),
        (2, {"model": {"nnselect": False}}, False),
    ],
)
def test_folds_are_trained_where_nnselect_has_seen_citations(
    corpus: Corpus,
    tmp_path: Path,
    nnselect: NNSelect,
    fields: FieldEncoder,
    epoch: int,
    changes: dict,
    fitted: bool,
) -> None:
    recipe = NNRankRecipe.parse({"candidates": {"neighbours": 5}} | changes)
    task = build(recipe, corpus, folder_with(tmp_path, nnselect, fields, epoch))
    assert (task.fit_folds is not None) == fitted
    if task.fit_folds is not None:
        select, _, _, folds, epochs = task.fit_folds.args  # type: ignore[attr-defined]
        assert (folds, epochs, select.training.epochs) == (3, 2, 4)


def test_a_model_folder_without_nnselect_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is not a cocite artifact"):
        build(NNRankRecipe(), corpus, tmp_path)

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.citeomatic.nnselect.in_batch_task import InBatchNNSelectTask
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import build
from cocite.systems.citeomatic.nnselect.triplet_task import TripletNNSelectTask


@pytest.mark.parametrize(
    ("objective", "task"), [("in_batch", InBatchNNSelectTask), ("paper", TripletNNSelectTask)]
)
def test_the_objective_decides_the_task(corpus: Corpus, objective: str, task: type) -> None:
    recipe = NNSelectRecipe.parse({"objective": {"objective": objective}, "model": {"dimension": 4}})
    made = build(recipe, corpus, Path("nowhere"))
    assert type(made) is task
    assert made.model.dimension == 4
    assert not made.periods.history.citing[made.periods.dev].any()


def test_a_corpus_without_a_dev_period_is_refused(corpus: Corpus) -> None:
    recipe = NNSelectRecipe.parse({"period": {"train_until": int(corpus.years.max())}})
    with pytest.raises(InputError, match="no paper of the dev period cites another"):
        build(recipe, corpus, Path("nowhere"))

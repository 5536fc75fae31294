"""The task that a recipe makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask
from cocite.systems.mp_bert4cr.shared_negatives_task import SharedNegativesTask
from cocite.systems.mp_bert4cr.task import build


def test_the_negatives_decide_the_task(corpus: Corpus, folder: Path) -> None:
    assert type(build(mp_bert4cr_recipe(), corpus, folder)) is MpBert4crTask
    assert type(build(mp_bert4cr_recipe(negatives={"shared": True}), corpus, folder)) is SharedNegativesTask


def test_a_model_folder_without_sentences_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        build(mp_bert4cr_recipe(), corpus, tmp_path)


def test_pretrained_weights_that_do_not_exist_are_refused(corpus: Corpus, folder: Path) -> None:
    with pytest.raises(NotFoundError, match="no pretrained weights 'mp-bert4cr-pretraining'"):
        build(mp_bert4cr_recipe(pretrained="mp-bert4cr-pretraining"), corpus, folder)


def test_a_period_without_dev_papers_is_refused(corpus: Corpus, folder: Path) -> None:
    recipe = mp_bert4cr_recipe()
    late = recipe.model_copy(
        update={
            "texts": recipe.texts.model_copy(
                update={"period": recipe.texts.period.model_copy(update={"train_until": 2019})}
            )
        }
    )
    with pytest.raises(InputError, match="no paper of the dev period cites another"):
        build(late, corpus, folder)

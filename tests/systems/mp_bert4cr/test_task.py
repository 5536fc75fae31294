"""The task that a recipe makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe, prepared_task

from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask
from cocite.systems.mp_bert4cr.shared_negatives_task import SharedNegativesTask
from cocite.systems.mp_bert4cr.task import build


def test_the_negatives_decide_the_task(corpus: Corpus, folder: Path) -> None:
    assert type(prepared_task(mp_bert4cr_recipe(), corpus, folder)) is MpBert4crTask
    shared = mp_bert4cr_recipe(negatives={"shared": True})
    assert type(prepared_task(shared, corpus, folder)) is SharedNegativesTask


def test_a_model_folder_without_what_is_trained_on_is_refused(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError, match="holds no citations to train on"):
        build(mp_bert4cr_recipe(), corpus, tmp_path)
    prepared_task(mp_bert4cr_recipe(), corpus, folder)
    (tmp_path / "citations").symlink_to(folder / "citations")
    with pytest.raises(NotFoundError, match="holds no sentences to train on"):
        build(mp_bert4cr_recipe(), corpus, tmp_path)


def test_pretrained_weights_that_do_not_exist_are_refused(corpus: Corpus, folder: Path) -> None:
    with pytest.raises(NotFoundError, match="no pretrained weights 'mp-bert4cr-pretraining'"):
        prepared_task(mp_bert4cr_recipe(pretrained="mp-bert4cr-pretraining"), corpus, folder)

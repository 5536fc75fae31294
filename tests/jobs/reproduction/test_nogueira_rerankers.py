"""Which rerankers are trained, into which folders, and by which settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite_jobs.reproduction.nogueira_rerankers import (
    RECIPES,
    SPLITS,
    TOKENS,
    encoder_folders,
    encoder_rerankers,
    folders_of_splits,
    split_trainings,
)
from cocite_jobs.reproduction.plan import SIZES, Setup, Size
from cocite_jobs.reproduction.rerankers import TINY
from cocite_jobs.tables.token_splits import split_of
from cocite_jobs.training.recipes import load_recipe


@pytest.mark.parametrize("size", SIZES)
def test_splits_share_the_tokens_of_the_main_reranker(empty_setup: Setup, size: Size) -> None:
    recipe, changes = RECIPES[size]
    settings = load_recipe(recipe, [*(TINY if size == "toy" else ()), *changes])
    assert isinstance(settings, CrossEncoderRecipe)
    assert settings.pairs.total == TOKENS[size]
    assert settings.readout == "first"
    setup = replace(empty_setup, size=size)
    folders = [str(folder.relative_to(setup.folder)) for folder in folders_of_splits(setup)]
    own = [
        artifact.removesuffix("/cross-encoder")
        for made in split_trainings(setup)
        for artifact in made.artifacts
    ]
    # Where all are trained as long as the main one, that is the reranker of its own split.
    assert folders == (own if size != "paper" else [*own, "model"])
    trained = {split_of(TOKENS[size], eighths)[0] for eighths in SPLITS[size]}
    assert (settings.pairs.query_tokens in trained) == (size == "small")


def test_each_encoder_has_a_folder_of_its_own(empty_setup: Setup, tmp_path: Path) -> None:
    names = ("a/bert", "a-bert", "b/bert", "../bert")
    setup = replace(empty_setup, encoder="first", more_encoders=names)
    folders = encoder_folders(setup)
    assert list(folders) == ["first", *names]
    assert folders["first"] == setup.model
    others = [folders[name] for name in names]
    assert len(set(others)) == 4
    assert {folder.parent for folder in others} == {setup.folder / "encoders"}
    made = [training.artifacts for training in encoder_rerankers(setup)]
    assert made == [(f"encoders/{folder.name}/cross-encoder",) for folder in others]


def test_without_a_name_the_first_encoder_is_the_sizes_own(empty_setup: Setup) -> None:
    assert list(encoder_folders(empty_setup)) == ["pretrained on the corpus"]
    assert list(encoder_folders(replace(empty_setup, size="paper"))) == ["allenai/scibert_scivocab_uncased"]
    assert encoder_rerankers(empty_setup) == []

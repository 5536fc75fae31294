"""The shipped recipes of cross-encoders: the papers' numbers, and what they can be put together with."""

from __future__ import annotations

import pytest

from cocite.systems.cross_encoder.network import SCIBERT
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite.systems.masked_lm.recipe import MaskedLanguageModelRecipe
from cocite_jobs.training.recipes import load_recipe


def cross_encoder(name: str, *overrides: str) -> CrossEncoderRecipe:
    recipe = load_recipe(name, overrides)
    assert isinstance(recipe, CrossEncoderRecipe)
    return recipe


def test_the_local_reranker_has_the_papers_numbers() -> None:
    recipe = cross_encoder("scibert-local")
    objective, optimizer = recipe.objective, recipe.training.optimizer
    assert (recipe.encoder, recipe.layers, recipe.pairs.layout) == (SCIBERT, None, "local")
    assert (objective.loss, objective.margin, objective.candidates) == ("triplet", 0.1, "sampled")
    assert (objective.negatives, recipe.candidates.depth, recipe.training.batch) == (62, 2000, 1)
    assert (optimizer.learning_rate, optimizer.weight_decay, optimizer.betas) == (1e-5, 1e-2, (0.9, 0.999))
    assert recipe.pairs.total == 512
    assert (recipe.pairs.context, recipe.pairs.gap) == ("last", "[CIT]")
    assert (recipe.candidates.retriever, recipe.candidates.earlier_only) == ("hatten", False)
    assert optimizer.clip == 0  # the paper names no clipping


def test_the_global_reranker_has_the_papers_numbers() -> None:
    recipe = cross_encoder("scibert-global")
    objective, optimizer = recipe.objective, recipe.training.optimizer
    assert (recipe.encoder, recipe.pairs.layout, recipe.candidates.task) == (SCIBERT, "global", "global")
    assert (recipe.pairs.query_tokens, recipe.pairs.candidate_tokens) == (256, 256)
    assert (objective.loss, objective.candidates, objective.top) == ("pointwise", "top", 10)
    assert (recipe.candidates.retriever, recipe.candidates.depth) == ("bm25", 10)
    assert (optimizer.learning_rate, optimizer.weight_decay, optimizer.betas) == (3e-6, 1e-2, (0.9, 0.999))
    assert (recipe.pairs.share, recipe.candidates.earlier_only, optimizer.clip) == (False, False, 0)
    assert recipe.training.schedule.shape == "linear"
    assert recipe.training.batch * objective.top == pytest.approx(128, abs=5)
    assert recipe.training.batch * objective.top * recipe.pairs.total == pytest.approx(65_536, rel=0.03)


def test_pretraining_ends_within_the_hour_with_a_model_that_the_small_recipe_reads() -> None:
    recipe = load_recipe("masked-lm")
    assert isinstance(recipe, MaskedLanguageModelRecipe)
    assert recipe.training.minutes is not None
    assert recipe.training.minutes < 60
    small = cross_encoder("cross-encoder-small", "encoder=model/masked-lm")
    assert small.pairs.total <= recipe.model.positions

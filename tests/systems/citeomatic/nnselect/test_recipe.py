from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.training.recipes import load_recipe


def test_the_papers_recipe_has_the_papers_numbers() -> None:
    recipe = load_recipe("nnselect-paper")
    assert isinstance(recipe, NNSelectRecipe)
    assert (recipe.objective.objective, recipe.objective.triplets) == ("paper", 500_000)
    assert (recipe.model.dimension, recipe.training.batch) == (300, 256)
    assert (recipe.negatives.per_query, recipe.negatives.neighbours) == (6, 10)


def test_a_section_given_in_part_keeps_the_other_defaults() -> None:
    recipe = NNSelectRecipe.parse({"training": {"optimizer": {"learning_rate": 0.5}}})
    optimizer = recipe.training.optimizer
    assert (optimizer.learning_rate, optimizer.weight_decay, optimizer.clip) == (0.5, 0.0, 0.0)
    assert (recipe.training.batch, recipe.training.patience, recipe.training.epochs) == (512, 3, 10)
    assert recipe.training.schedule.warmup == 0
    assert NNSelectRecipe.parse({"workers": {"cpus": 2}}).workers.count == 0


def test_deepspeed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"training\.backend: input should be 'plain' or 'ddp'"):
        NNSelectRecipe.parse({"training": {"backend": "deepspeed"}})


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"encoder": "lstm"}, "'bag', 'cnn' or 'rnn'"),
        ({"encoder": "cnn", "window": 4}, "window is 4, not an odd number"),
        ({"encoder": "cnn", "window": 17}, "window: input should be less than or equal to 15, got 17"),
        ({"encoder": "rnn", "dimension": 75}, "dimension is 75: an rnn needs an even one"),
    ],
)
def test_an_encoder_that_cannot_be_is_refused(model: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        NNSelectRecipe.parse({"model": model})


def test_vectors_are_kept_as_they_are_only_where_they_are_pretrained() -> None:
    kept = NNSelectRecipe.parse({"model": {"finetune": False, "pretrained": "vectors.txt"}})
    assert not kept.model.finetune
    sentence = r"model: finetune is false without pretrained vectors to keep: name their file in pretrained, or leave"
    with pytest.raises(ConfigError, match=sentence):
        NNSelectRecipe.parse({"model": {"finetune": False}})

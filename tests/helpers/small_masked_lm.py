"""Recipes of small masked-language trainings, for a corpus of some hundred papers up to 2019."""

from __future__ import annotations

from typing import Any

from cocite.systems.masked_lm.recipe import MaskedLanguageModelRecipe


def masked_lm_recipe(**sections: Any) -> MaskedLanguageModelRecipe:
    """A recipe with some settings changed."""
    data: dict[str, dict[str, Any]] = {
        "texts": {
            "vocabulary": 400,
            "sequence": 32,
            "body": 6,
            "dev_pieces": 20,
            "period": {"train_until": 2015},
        },
        "model": {"hidden": 32, "layers": 2, "heads": 4, "inner": 64, "positions": 64},
        "training": {"batch": 16, "tokens": 512, "optimizer": {"learning_rate": 3e-3}},
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values}
    return MaskedLanguageModelRecipe.parse({"kind": "masked-lm", **data})

"""Recipes of small cross-encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe


def small_recipe(encoder: Path | str, **sections: Any) -> CrossEncoderRecipe:
    """A recipe that trains in seconds on 600 synthetic papers; ``sections`` override its values."""
    data: dict[str, dict[str, Any]] = {
        "pairs": {"query_tokens": 30, "candidate_tokens": 24, "context_tokens": 16},
        "candidates": {
            "retriever": "bm25",
            "queries": 80,
            "depth": 20,
            "dev_queries": 12,
            "dev_depth": 8,
            "period": {"train_until": 2015},
        },
        "objective": {"negatives": 5},
        "training": {"batch": 8, "tokens": 1000, "optimizer": {"learning_rate": 1e-3}},
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values}
    return CrossEncoderRecipe.parse({"kind": "cross-encoder", "encoder": str(encoder), **data})

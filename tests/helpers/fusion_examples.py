"""Examples for learned fusions, and recipes of small ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from cocite.systems.learned_fusion.examples import FusionExamples
from cocite.systems.learned_fusion.recipe import FusionRecipe


def fusion_examples(queries: int, *, noise: float, useless: int = 0, seed: int = 0) -> FusionExamples:
    """Candidates of which two are relevant; one signal is their relevance with noise, the others are noise."""
    rng = np.random.default_rng(seed)
    relevant = np.zeros((queries, 30), bool)
    relevant[:, :2] = True
    signals = {"first-stage": relevant + noise * rng.normal(size=relevant.shape)}
    signals |= {f"useless-{i}": rng.normal(size=relevant.shape) for i in range(useless)}
    typed = {name: values.astype(np.float32) for name, values in signals.items()}
    return FusionExamples(
        typed, relevant, np.full(queries, 2, np.int32), np.arange(queries, dtype=np.int32) // 2
    )


def small_recipe(**trees: Any) -> FusionRecipe:
    return FusionRecipe.parse({"trees": {"threads": 1, "leaves": 7, "least_in_leaf": 5, **trees}})

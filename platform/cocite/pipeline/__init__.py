"""The chain: first stage, second stage, and the recommender that joins them.

>>> from cocite.pipeline import Options, Recommender
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cocite.pipeline.options import Options as Options
    from cocite.pipeline.recommender import Recommender as Recommender

_HOMES = {"Options": "cocite.pipeline.options", "Recommender": "cocite.pipeline.recommender"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the modules behind them load models and engines."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)

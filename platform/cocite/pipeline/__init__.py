"""The pipeline that recommends papers: a first stage finds candidates, a second stage orders them.

Order of reading: ``options`` (what a caller may set, and what the stages exchange), ``signals`` and ``weights``
(the scores that the first stage blends), ``first_stage``, ``top_candidates`` and ``second_stage``, ``evidence`` and
``explanations``, ``components`` (the parts of a model folder), and ``recommender``, which joins them.

Training only: ``candidate_mining`` finds the candidates of a cross-encoder's training and ``candidate_files`` keeps
them, ``fusion_candidates`` finds those of a learned fusion's, and ``nnrank_comparison`` decides whether NNRank orders
candidates. The other modules import none of these, and nothing else that trains.

>>> from cocite.pipeline import Options, Recommender
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cocite.pipeline.options import Options as Options
    from cocite.pipeline.recommender import Recommender as Recommender

_MODULES = {"Options": "cocite.pipeline.options", "Recommender": "cocite.pipeline.recommender"}


def __getattr__(name: str) -> Any:
    """Import the module of a public name at its first use: it imports search engines and models, which take seconds."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)

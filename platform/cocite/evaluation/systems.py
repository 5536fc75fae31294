"""The ranking systems that a model folder offers, by name: what ``rank`` runs and ``evaluate`` compares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cocite.errors import InputError, nearest
from cocite.evaluation.baselines import Bm25Baseline
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.evaluation.experiment import Rank
from cocite.pipeline import members
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.dense import VectorRetriever
from cocite.retrieval.index import Index
from cocite.retrieval.query_forms import QueryForm

SYSTEMS = {
    "bm25": "BM25 alone; needs no model",
    "nnselect": "cosine in NNSelect's space",
    "nnrank": "NNSelect's neighbours and what they cite, ordered by NNRank: Citeomatic as published",
    "first": "the first stage's blend of signals, unordered by any model",
    "full": "both stages: what `recommend` and the endpoint answer with",
}
"""Name -> what it is, in the order in which they are measured."""


def offered(model: Path | None) -> list[str]:
    """Names of the systems that a model folder has the parts for; without a folder, those that need none."""
    parts = set(members.check(model)) if model is not None else set()
    names = {"bm25", "first"}
    if "nnselect" in parts:
        names |= {"nnselect", "nnrank"} if "nnrank" in parts else {"nnselect"}
    if parts & {"nnrank", "fusion"}:
        names.add("full")
    return [name for name in SYSTEMS if name in names]


def chosen(model: Path | None, names: Sequence[str] | None, *, where: str) -> list[str]:
    """The systems asked for, all that are offered by default; an unknown or impossible one is refused."""
    possible = offered(model)
    for name in names or []:
        if name not in SYSTEMS:
            raise InputError(f"no system is called {name!r}", where=where, hint=nearest(name, SYSTEMS))
        # Both stages can always be run: a part that is missing is done without.
        if name not in possible and name != "full":
            raise InputError(
                f"the model folder {model} lacks the parts of {name!r}"
                if model
                else f"{name!r} needs a model folder",
                where=where,
                hint=f"it offers {', '.join(possible)}" if model else "give --model",
            )
    return list(names) if names else possible


def open_system(name: str, model: Path | None, index: Index, *, form: QueryForm | None = None) -> Rank:
    """A system over an index; ``form`` is BM25's alone."""
    if name == "bm25":
        return Bm25Baseline(index, form).search
    if name == "first":
        return FirstStage.load(model, index).search
    if name == "full":
        return Recommender.over(model, index).rank
    encoder = members.load_encoder(model, "nnselect") if model is not None else None
    if encoder is None or model is None:
        raise InputError(f"the system {name!r} needs NNSelect", where=str(model))
    if name == "nnselect":
        return VectorRetriever(index, encoder).search
    return CiteomaticRanker(index, encoder, members.load_nnrank(model, index)).rank

"""The ranking systems of a model folder, by name: ``cocite rank`` runs one, ``cocite evaluate`` compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cocite.errors import InputError, nearest
from cocite.evaluation.baselines import Bm25Baseline
from cocite.evaluation.citeomatic import CiteomaticRanker, trained_neighbours
from cocite.evaluation.experiment import Rank
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import CandidateScope, Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import GLOBAL_WEIGHTS, LOCAL_WEIGHTS
from cocite.protocols import Encoder, Query, Ranking
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.sharded_retrievers import vector_retriever

SYSTEMS = {
    "bm25": "BM25 alone; needs no model",
    "nnselect": "cosine in NNSelect's space",
    "nnrank": "NNSelect's neighbours, as many as in training, and what they cite, by NNRank: Citeomatic's phases",
    "hatten": "cosine in HAtten's space",
    "sentence": "cosine of a public sentence encoder's vectors, without training",
    "mp-bert4cr": "cosine in MP-BERT4CR's space",
    "first-without-neural": "the first stage's blend without any encoder's signals",
    "first": "the first stage's blend of signals, unordered by any model",
    "fusion": "the first stage, then the learned fusion of all signals",
    "cross": "the first stage, its best ordered by the cross-encoder alone",
    "full": "all stages: what `recommend` and the endpoint answer with",
}
"""Name -> description, in the order in which they are measured."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "nnselect": ("nnselect",),
    "nnrank": ("nnselect", "nnrank"),
    "hatten": ("hatten",),
    "sentence": ("sentence",),
    "mp-bert4cr": ("mp-bert4cr",),
    "fusion": ("fusion",),
    "cross": ("cross-encoder",),
}
"""Components that a system requires. The two stages require none: they skip a component that is missing."""
BLENDED = {name.partition(":")[0] for name in (*LOCAL_WEIGHTS, *GLOBAL_WEIGHTS)} & set(components.ENCODERS)
"""Encoders whose signals the first stage's blend weighs."""


def available(model: Path | None) -> list[str]:
    """Names of the systems that a model folder has the components for, without those that equal another one.

    Example:
        >>> available(None)
        ['bm25', 'first']
    """
    parts = _active_components(model)
    names = {"bm25", "first"} | {name for name, needed in NEEDS.items() if parts.issuperset(needed)}
    if parts & BLENDED:
        names.add("first-without-neural")
    if model is not None and _orders(model, parts):
        names.add("full")
    if "cross-encoder" not in parts:
        names.discard("fusion")
    return [name for name in SYSTEMS if name in names]


def _active_components(model: Path | None) -> set[str]:
    """The components of a model folder, without those that are left out."""
    if model is None:
        return set()
    components.list_components(model)
    return set(components.active_components(model))


def _orders(model: Path, parts: set[str]) -> bool:
    """Whether a component changes the order of the first stage."""
    return bool(parts & {"fusion", "final"}) or any(
        components.ordered_kinds(model, name) for name in ("nnrank", "cross-encoder")
    )


def select(model: Path | None, names: Sequence[str] | None, *, where: str) -> list[str]:
    """The names of the systems to run.

    Args:
        model: the model folder.
        names: what a user asked for; by default all that are available.
        where: the option, for messages.

    Raises:
        InputError: a name is unknown or given twice, or the folder lacks a component that the system requires.

    Example:
        >>> select(None, ["bm25"], where="--systems")
        ['bm25']
    """
    parts = _active_components(model)
    for number, name in enumerate(names or []):
        if name in (names or [])[:number]:
            raise InputError(f"{name!r} is named twice", where=where)
        if name not in SYSTEMS:
            raise InputError(f"no system is called {name!r}", where=where, hint=nearest(name, SYSTEMS))
        for part in {*NEEDS.get(name, ())} - parts:
            if model is not None and (why := components.excluded_kinds(model, part)):
                raise InputError(next(iter(why.values())), where=f"{where} {name}")
        if not parts.issuperset(NEEDS.get(name, ())):
            raise InputError(
                f"the model folder {model} lacks the parts of {name!r}"
                if model
                else f"{name!r} needs a model folder",
                where=where,
                hint=f"it offers {', '.join(available(model))}" if model else "give --model",
            )
    return list(names) if names else available(model)


def encoders_for(model: Path | None, names: Sequence[str]) -> list[Encoder]:
    """The encoders of a model folder whose vectors an index must hold for some systems."""
    if set(names) - {"bm25", "first-without-neural", *NEEDS} or set(names) & {"fusion", "cross"}:
        return components.load_encoders(model)
    return components.load_encoders(model, among=[part for name in names for part in NEEDS.get(name, ())])


def open_system(
    name: str,
    model: Path | None,
    index: SearchIndex,
    *,
    form: QueryForm | None = None,
    rerank: int | None = None,
    candidates: CandidateScope = "all",
) -> Rank:
    """A system over an index, as a function that ranks.

    Args:
        name: one of :data:`SYSTEMS`.
        model: the model folder.
        index: with the vectors of the encoders that the system uses.
        form: which texts of a query are matched; BM25's alone.
        rerank: how many candidates the cross-encoder reads, where one does; the usual number by default.
        candidates: ``all`` papers, as the tasks' protocol says; ``older``: those of a query's year and earlier.

    Raises:
        InputError: the system requires a model folder, or a component that the folder lacks.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.evaluation.baselines import lexical_index
        >>> rank = open_system("bm25", None, lexical_index(starter_corpus()))
        >>> rank([Query("q", title="parsing")], 3).depth
        3
    """
    rank = _open(name, model, index, form, rerank)
    if candidates == "all":
        return rank
    return lambda queries, k: rank([query.older_candidates() for query in queries], k)


def _open(
    name: str, model: Path | None, index: SearchIndex, form: QueryForm | None, rerank: int | None
) -> Rank:
    if name == "bm25":
        return Bm25Baseline(index, form).search
    if name == "first-without-neural":
        return FirstStage(index).search
    if name == "first":
        return FirstStage.load(model, index).search
    if name in ("full", "fusion"):
        recommender = Recommender.over(model, index, cross_encoder=name == "full")
        return lambda queries, k: recommender.rank(queries, k, rerank=rerank)
    if model is None:
        raise InputError(f"{name!r} needs a model folder", hint="give --model")
    if name == "cross":
        return _cross_encoder_alone(model, index, Options().rerank if rerank is None else rerank)
    encoder = components.load_encoder(model, "nnselect" if name == "nnrank" else name)
    if encoder is None:
        raise InputError(f"lacks the parts of {name!r}", where=str(model))
    if name == "nnrank":
        nnrank = components.load_nnrank(model, index)
        return CiteomaticRanker(index, encoder, nnrank, neighbours=trained_neighbours(model)).rank
    return vector_retriever(index, encoder).search


def _cross_encoder_alone(model: Path, index: SearchIndex, rerank: int) -> Rank:
    """The first stage, then the cross-encoder alone."""
    second = SecondStage(index, cross_encoder=components.load_cross_encoder(model, index))
    recommender = Recommender(FirstStage.load(model, index), second)

    def rank(queries: Sequence[Query], k: int) -> Ranking:
        return recommender.rank(queries, k, depth=max(rerank, 1), rerank=rerank, cross_weight=1.0)

    return rank

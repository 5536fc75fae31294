"""A first stage that cuts nothing off, so that what it finds does not depend on how an index is divided."""

from __future__ import annotations

from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.pooled_signals import UNLIMITED_POOL
from cocite.retrieval.index.search_index import SearchIndex
from helpers.topic_corpus import HashEncoder


def exact_stage(index: SearchIndex, *, vectors: bool = True) -> FirstStage:
    """All signals of an index, with the vectors of the hash encoder or without."""
    weights = {"whole>text": 1.0, "whole>anchors": 0.5, "sentences": 2.0, "in-citations": 0.2}
    weights |= {"neighbours-50": 1.0, "cites-neighbours": 0.3, "past-citations": 0.5, "shared-authors": 0.5}
    weights |= {"hash": 1.0} if vectors else {}
    local = weights | {"near>anchors": 1.0, "near-sentences": 1.0, "context>title": 0.5, "names": 0.5}
    encoders = [HashEncoder()] if vectors else []
    both = {"local": local, "global": weights}
    return FirstStage(index, encoders, weights=both, dense=False, limits=UNLIMITED_POOL)

"""The parts of an index, as values: what a build makes, and what a later build starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.collection import Collection


@dataclass(frozen=True)
class IndexParts(Collection):
    """Everything that the first stage searches, without the means to search it.

    Attributes:
        papers: a BM25 index of each of :data:`~cocite.retrieval.index.documents.FIELDS`, a document a paper.
        contexts: BM25 over ``history.contexts``, in that order, citation marks taken out.
        vectors: (N, d) unit vectors by the name of the encoder that made them; of any number of encoders.
        encoder_ids: the id of each of those encoders.
        anchors: BM25 over what contexts say of each paper; empty in an index of the papers' words alone.

    Example:
        >>> import numpy as np
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> papers = {"title": Bm25Index.build(corpus.papers.table["title"].to_pylist())}
        >>> alive = np.ones(len(corpus), bool)
        >>> parts = IndexParts(corpus, History.all(corpus), alive, papers, Bm25Index.build([]))
        >>> sorted(parts.papers), len(parts.contexts), dict(parts.vectors)
        (['title'], 0, {})
    """

    papers: Mapping[str, Bm25Index]
    contexts: Bm25Index
    vectors: Mapping[str, VectorIndex] = field(default_factory=dict)
    encoder_ids: Mapping[str, str] = field(default_factory=dict)
    anchors: AnchorTexts = field(default_factory=AnchorTexts, repr=False)

"""Citeomatic's two phases as one ranking system, as its tables measure it (Bhagavatula et al., 2018, 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cocite.manifests import read_manifest
from cocite.protocols import NO_ROW, Encoder, Query, Ranking, Reranker
from cocite.retrieval.index.collection import last_years
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.sharded_retrievers import vector_retriever
from cocite.retrieval.signals.neighbours import expand

NEIGHBOURS = (1, 5, 10, 50)
"""Values of K in Table 4."""
UNKNOWN = 100
"""K where a manifest has none: that of the recipe ``nnrank``."""


def trained_neighbours(model: Path) -> int:
    """K of the recipe that a model folder's NNRank was trained with; 100 where its manifest does not say.

    Args:
        model: model folder; without ``nnrank`` in it the answer is 100.

    Raises:
        IntegrityError: the manifest is damaged.

    Example:
        >>> import tempfile
        >>> from cocite.artifacts import publish
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     recipe = {"candidates": {"neighbours": 10}}
        ...     with publish(Path(folder) / "nnrank", kind="nnrank", meta={"recipe": recipe}):
        ...         pass
        ...     trained_neighbours(Path(folder)), trained_neighbours(Path(folder) / "other")
        (10, 100)
    """
    if not (model / "nnrank").is_dir():
        return UNKNOWN
    recipe = read_manifest(model / "nnrank", kind="nnrank").meta.get("recipe", {})
    return int(recipe.get("candidates", {}).get("neighbours", UNKNOWN))


class CiteomaticRanker:
    """Ranks NNSelect's K nearest papers and the papers that they cite, by cosine or by the score of a reranker.

    Args:
        index: with the encoder's vectors; its history holds the neighbours' known citations.
        encoder: NNSelect.
        reranker: NNRank; without it candidates are ordered by cosine.
        neighbours: K; :func:`trained_neighbours` has that of a model folder.
        expansion: whether the papers that the neighbours cite are added.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus = starter_corpus()
        >>> class Late:  # an encoder for the example: the latest papers are nearest
        ...     name, id, dimension = "nnselect", "1", 2
        ...     def encode_papers(self, corpus, rows):
        ...         angles = (2030 - corpus.years[rows]) / 100
        ...         return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
        ...     def encode_queries(self, queries):
        ...         return np.eye(1, 2, dtype=np.float32).repeat(len(queries), 0)
        >>> index = Index.build(corpus, History.all(corpus), encoders=[Late()])
        >>> for expansion in (False, True):
        ...     ranker = CiteomaticRanker(index, Late(), neighbours=5, expansion=expansion)
        ...     print(ranker.rank([Query("q", title="A manuscript")], 100).depth)
        5
        60
    """

    def __init__(
        self,
        index: SearchIndex,
        encoder: Encoder,
        reranker: Reranker | None = None,
        *,
        neighbours: int = UNKNOWN,
        expansion: bool = True,
    ) -> None:
        self.retriever = vector_retriever(index, encoder)
        self.index, self.encoder, self.reranker = index, encoder, reranker
        self.neighbours, self.expansion = neighbours, expansion

    def candidates(self, queries: Sequence[Query]) -> Ranking:
        """(Q, M) the candidates of each query, by decreasing cosine."""
        vectors = self.encoder.encode_queries(queries)
        nearest = self.retriever.search_vectors(queries, vectors, self.neighbours)
        if not self.expansion:
            return nearest
        expanded = expand(nearest, self.index.history.cites)
        width = int(expanded.degrees.max(initial=0))
        rows = np.full((len(queries), width), NO_ROW, np.int32)
        rows[np.arange(width) < expanded.degrees[:, None]] = expanded.indices
        for row, query in zip(rows, queries, strict=True):
            row[np.isin(row, [query.paper, *query.exclude])] = NO_ROW
        rows[(rows != NO_ROW) & ~self.index.alive[rows]] = NO_ROW
        limits = last_years(queries)
        if limits is not None:
            rows[self.index.corpus.years[rows] > limits[:, None]] = NO_ROW
        cosines = self.retriever.similarities(vectors, rows)
        return Ranking(rows, np.full(rows.shape, -np.inf, np.float32)).rescored(cosines)

    def rank(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best candidates of each query; fewer when there are no more."""
        candidates = self.candidates(queries)
        if self.reranker is not None:
            candidates = candidates.rescored(self.reranker.score(queries, candidates))
        return _without_padding(candidates).top(k)


def _without_padding(ranking: Ranking) -> Ranking:
    """The same ranking without columns that hold padding alone."""
    return ranking.top(int((ranking.rows != NO_ROW).sum(axis=1).max(initial=0)))

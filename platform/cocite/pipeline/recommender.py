"""The recommender: both stages in one process, over a model folder and an index snapshot.

>>> recommender = Recommender.load("model", "index")                        # doctest: +SKIP
>>> query = recommender.query(title="Attention for parsing", abstract="…")  # doctest: +SKIP
>>> [paper.title for paper in recommender.recommend(query)]                 # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cocite.errors import InputError
from cocite.pipeline import components as members
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options, Recommendation, by_kind
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.index import Index


class Recommender:
    """Recommends papers; also a :class:`~cocite.protocols.Retriever`.

    Args:
        first: finds candidates.
        second: orders them.
        model_version: fingerprint of the model folder.
        left_out: why members of the model folder are left out, a sentence each.
    """

    name = "recommender"

    def __init__(
        self,
        first: FirstStage,
        second: SecondStage,
        *,
        model_version: str = "",
        left_out: Sequence[str] = (),
    ) -> None:
        self.first, self.second = first, second
        self.index: Index = first.index
        self.model_version, self.left_out = model_version, tuple(left_out)

    @classmethod
    def load(cls, model: str | Path | None, index: str | Path) -> Recommender:
        """Load a model folder (or none: the untrained blend) over the current version of an index."""
        from cocite.retrieval.index.snapshot import IndexSnapshot

        return cls.over(model, IndexSnapshot.open(Path(index)))

    @classmethod
    def over(cls, model: str | Path | None, index: Index, *, cross_encoder: bool = True) -> Recommender:
        """The same over an index that is open already, or lives in memory; without its cross-encoder if told so."""
        folder = Path(model) if model is not None else None
        return cls(
            FirstStage.load(folder, index),
            SecondStage.load(folder, index, cross_encoder=cross_encoder),
            model_version=members.version(folder),
            left_out=members.left_out_notes(folder),
        )

    def query(
        self,
        *,
        title: str = "",
        abstract: str = "",
        context: str = "",
        year: int | None = None,
        authors: Sequence[str] = (),
        venue: str = "",
        paper: str | None = None,
        exclude: Sequence[str] = (),
        id: str = "query",
    ) -> Query:
        """A query from what an author gives; ids become rows, and an unknown one is an error.

        Args:
            title: of the manuscript.
            abstract: of the manuscript.
            context: text around a gap that reads ``[CIT]`` or ``TARGETCIT``.
            year: of the manuscript: later papers are not recommended to it, unless the options say otherwise.
            authors: of the manuscript.
            venue: where it is to appear.
            paper: its id, if it is in the corpus.
            exclude: ids of papers not to recommend.
            id: name of the query in a run.
        """
        if not (title.strip() or abstract.strip() or context.strip()):
            raise InputError("the query is empty", hint="give a title, an abstract, or a context with [CIT]")
        corpus = self.index.corpus
        return Query(
            id=id,
            context=context,
            title=title,
            abstract=abstract,
            year=year,
            authors=tuple(authors),
            venue=venue,
            paper=corpus.row(paper) if paper else NO_ROW,
            exclude=tuple(corpus.row(other) for other in exclude),
        )

    def recommend(self, query: Query, options: Options | None = None) -> list[Recommendation]:
        """The papers that a query should cite, best first, with evidence.

        A query with a year gets papers of that year or earlier, and papers of unknown year;
        ``Options(candidates="all")`` lets later ones through, and ``Options(year_to=...)`` sets another limit.
        """
        return self.recommend_all([query], options)[0]

    def recommend_all(
        self, queries: Sequence[Query], options: Options | None = None
    ) -> list[list[Recommendation]]:
        """As :meth:`recommend`, for a batch."""
        options = options or Options()
        if options.candidates is None:
            options = replace(options, candidates="older")
        return self.second.rerank(queries, self.first.retrieve(queries, options), options)

    def rank(
        self,
        queries: Sequence[Query],
        k: int,
        *,
        depth: int | None = None,
        rerank: int | None = None,
        cross_weight: float | None = None,
    ) -> Ranking:
        """The ``k`` best papers of each query, without evidence: the first ``depth`` reranked, the others behind.

        All papers are candidates, whatever the query's year, but where ``Query.candidates_until`` limits them.

        Args:
            queries: local and global ones may be mixed.
            k: papers of each.
            depth: candidates of the second stage; as many as the learned fusion was trained on by default.
            rerank, cross_weight: as in :class:`~cocite.pipeline.options.Options`.
        """
        width = min(k, len(self.index))
        result = Ranking(
            np.full((len(queries), width), NO_ROW, np.int32),
            np.full((len(queries), width), -np.inf, np.float32),
        )
        usual = Options()
        for kind, places in by_kind(queries):
            options = Options(
                top_k=k,
                depth=depth or self.second.depth(kind) or usual.depth,
                rerank=usual.rerank if rerank is None else rerank,
                cross_weight=usual.cross_weight if cross_weight is None else cross_weight,
                evidence=False,
            )
            asked = [queries[i] for i in places]
            found = self.second.order(asked, self.first.retrieve(asked, options, wide=k), options).top(k)
            result.rows[places], result.scores[places] = found.rows, found.scores
        return result

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """As the Retriever protocol wants it."""
        return self.rank(queries, k)

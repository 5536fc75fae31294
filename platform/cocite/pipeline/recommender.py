"""The recommender: both stages in one process, over a model folder and an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cocite.errors import InputError
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options, by_kind
from cocite.pipeline.recommendation_list import Recommendations
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.seed_lists import checked_seeds
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import manuscript_texts
from cocite.text.gaps import has_letters


class Recommender:
    """Recommends papers; also a :class:`~cocite.protocols.Retriever`.

    Args:
        first: finds candidates.
        second: orders them.
        model_version: fingerprint of the model folder.
        exclusion_notes: a sentence for each component of the model folder that is left out.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> recommender = Recommender.over(None, index)  # without a model: the first stage's shipped weights
        >>> query = recommender.query(title="Attention-based machine translation", year=2015)
        >>> best, second = recommender.recommend(query, Options(top_k=2))
        >>> best.title
        'Neural Machine Translation by Jointly Learning to Align and Translate'
        >>> [word for word, weight in best.evidence.shared_words]
        ['translation', 'machine', 'based']
    """

    name = "recommender"

    def __init__(
        self,
        first: FirstStage,
        second: SecondStage,
        *,
        model_version: str = "",
        exclusion_notes: Sequence[str] = (),
    ) -> None:
        self.first, self.second = first, second
        self.index: SearchIndex = first.index
        self.model_version, self.exclusion_notes = model_version, tuple(exclusion_notes)

    @classmethod
    def load(cls, model: str | Path | None, index: str | Path) -> Recommender:
        """Load a model folder over the current version of an index; None: the first stage's blend alone ranks."""
        from cocite.retrieval.index.opening import open_index

        return cls.over(model, open_index(index))

    @classmethod
    def over(cls, model: str | Path | None, index: SearchIndex, *, cross_encoder: bool = True) -> Recommender:
        """The same over an opened index; ``cross_encoder=False`` leaves out the cross-encoder and the final fusion."""
        folder = Path(model) if model is not None else None
        return cls(
            FirstStage.load(folder, index),
            SecondStage.load(folder, index, cross_encoder=cross_encoder),
            model_version=components.version(folder),
            exclusion_notes=components.exclusion_notes(folder),
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
        like: Sequence[str] = (),
        dislike: Sequence[str] = (),
        id: str = "query",
    ) -> Query:
        """Make a query of an author's texts and ids; ids become rows.

        Args:
            title: of the manuscript.
            abstract: of the manuscript.
            context: text around a gap that reads ``[CIT]`` or ``TARGETCIT``.
            year: of the manuscript: later papers are not recommended to it, unless the options say otherwise.
            authors: of the manuscript.
            venue: where it is to appear.
            paper: its id, if it is in the corpus.
            exclude: ids of papers not to recommend.
            like: ids of papers, such as those that the manuscript cites, whose like is wanted. With them no text is
                needed.
            dislike: ids of papers whose like is not wanted.
            id: name of the query in a run.

        Raises:
            InputError: the query has neither a text nor papers that are liked, a paper is liked and disliked, or there
                are more than :data:`~cocite.pipeline.seed_lists.MOST` of either.
            NotFoundError: the corpus does not hold one of the ids.
        """
        if not (title.strip() or abstract.strip() or context.strip() or like):
            raise InputError(
                "the query is empty",
                hint="give a title, an abstract, a context with [CIT], or papers to like",
            )
        corpus = self.index.corpus
        liked, disliked = checked_seeds(
            [corpus.row(one) for one in like], [corpus.row(one) for one in dislike], corpus.ids
        )
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
            like=liked,
            dislike=disliked,
        )

    def recommend(self, query: Query, options: Options | None = None) -> Recommendations:
        """The papers that a query should cite, best first, with evidence; a notebook shows them as a table.

        The list's ``note`` says where the text is unlike the papers of the index, or no paper is probable.

        A query with a year gets papers of that year or earlier, and papers of unknown year;
        ``Options(candidates="all")`` lets later ones through, and ``Options(year_to=...)`` sets another limit.
        """
        return self.recommend_all([query], options)[0]

    def recommend_all(
        self, queries: Sequence[Query], options: Options | None = None
    ) -> list[Recommendations]:
        """As :meth:`recommend`, for a batch."""
        options = options or Options()
        if options.candidates is None:
            options = replace(options, candidates="older")
        candidates = self.first.retrieve(queries, options)
        ranked = self.second.rerank(queries, candidates, options)
        unlike = candidates.unlike or [False] * len(queries)
        # Seeds need no words beside them.
        searchable = [
            query.kind == "seeds" or has_letters(text)
            for query, text in zip(queries, manuscript_texts(queries), strict=True)
        ]
        return [
            Recommendations(papers, unlike_corpus=one, has_words=words)
            for papers, one, words in zip(ranked, unlike, searchable, strict=True)
        ]

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
        defaults = Options()
        for kind, positions in by_kind(queries):
            options = Options(
                top_k=k,
                depth=depth or self.second.depth(kind) or defaults.depth,
                rerank=defaults.rerank if rerank is None else rerank,
                cross_weight=defaults.cross_weight if cross_weight is None else cross_weight,
                evidence=False,
            )
            block = [queries[i] for i in positions]
            ranking = self.second.order(block, self.first.retrieve(block, options, wide=k), options).top(k)
            result.rows[positions], result.scores[positions] = ranking.rows, ranking.scores
        return result

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query, as :meth:`rank` gives them: the method of a Retriever."""
        return self.rank(queries, k)

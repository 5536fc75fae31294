"""The second stage: orders the candidates, each of its parts fewer of them at more cost, and explains the order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline import components
from cocite.pipeline.confidence import confidences
from cocite.pipeline.explanations import Explainer
from cocite.pipeline.options import QUERY_KINDS, Candidates, Options, Recommendation, Stages, by_kind
from cocite.pipeline.reordering import Reordering
from cocite.pipeline.seeds import with_seeds
from cocite.pipeline.top_candidates import TopCandidates, combine_standardised, rank_features
from cocite.protocols import NO_ROW, Query, Ranking, Reranker
from cocite.retrieval.index.search_index import SearchIndex
from cocite.systems.confidence.calibration import Confidence
from cocite.systems.learned_fusion.reranker import LearnedFusion

Matrix = NDArray[np.float32]


class SecondStage:
    """Orders candidates by the components of a model folder.

    | part | reads | without it |
    | --- | --- | --- |
    | NNRank | all candidates | there is one signal less |
    | learned fusion | all candidates, by all signals | NNRank's order, where it may order; else the first stage's |
    | cross-encoder | the best ``Options.rerank`` of that order | that order stays |
    | final fusion | the same, by all signals and both scores | ``Options.cross_weight`` weighs the two scores |

    Args:
        index: the papers and the history.
        nnrank: scores candidates by title and abstract.
        nnrank_orders: kinds of query whose candidates NNRank orders where no fusion does; for the others its score is
            a signal alone.
        fusions: the learned fusion for ``local`` and ``global`` queries.
        cross_encoder: reads query and candidate together; its ``kinds``, if it has them, are the kinds of query that
            it was made for.
        cross_orders: kinds of query for which the cross-encoder may change the order where no final fusion does.
        finals: the final fusion for ``local`` and ``global`` queries.
        confidence: makes probabilities of the last scores.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.first_stage import FirstStage
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> class Newest:  # stands for a cross-encoder
        ...     name = "newest"
        ...     def score(self, queries, candidates):
        ...         return index.corpus.years[candidates.rows].astype(np.float32)
        >>> queries, options = [Query("q", title="Machine translation")], Options(depth=20, rerank=5, cross_weight=1)
        >>> candidates = FirstStage(index).retrieve(queries, options)
        >>> ranking = SecondStage(index, cross_encoder=Newest()).order(queries, candidates, options)
        >>> years = index.corpus.years[ranking.rows[0]].tolist()
        >>> years[:5] == sorted(years[:5], reverse=True)
        True
    """

    def __init__(
        self,
        index: SearchIndex,
        *,
        nnrank: Reranker | None = None,
        nnrank_orders: Collection[str] = QUERY_KINDS,
        fusions: Mapping[str, LearnedFusion] | None = None,
        cross_encoder: Reranker | None = None,
        cross_orders: Collection[str] = QUERY_KINDS,
        finals: Mapping[str, LearnedFusion] | None = None,
        confidence: Confidence | None = None,
    ) -> None:
        self.index, self.nnrank, self.cross_encoder = index, nnrank, cross_encoder
        self.confidence = confidence
        self.nnrank_orders, self.cross_orders = nnrank_orders, cross_orders
        self.fusions, self.finals = fusions or {}, finals or {}
        self.explainer, self.reordering = Explainer(index), Reordering(index)

    @classmethod
    def load(
        cls, model: Path | None, index: SearchIndex, *, cross_encoder: bool = True, confidence: bool = True
    ) -> SecondStage:
        """The stage of a model folder over an index; ``cross_encoder=False``: without cross-encoder and final fusion.

        ``confidence=False`` leaves out the probabilities.

        A component that was below the stage before it on dev is left out: see :func:`components.excluded_kinds`.
        """
        if model is None:
            return cls(index)
        fusions = components.load_fusions(model, index, "fusion")
        finals = components.load_fusions(model, index, "final") if cross_encoder else {}
        ranks, crosses = (components.ordered_kinds(model, name) for name in ("nnrank", "cross-encoder"))
        return cls(
            index,
            nnrank=components.load_nnrank(model, index) if ranks or fusions or finals else None,
            nnrank_orders=ranks,
            fusions=fusions,
            cross_encoder=components.load_cross_encoder(model, index)
            if cross_encoder and (crosses or finals)
            else None,
            cross_orders=crosses,
            finals=finals,
            confidence=components.load_confidence(model, index) if confidence else None,
        )

    def depth(self, kind: str) -> int:
        """Candidates that the learned fusion was trained to order; 0 when there is none."""
        return self.fusions[kind].depth if kind in self.fusions else 0

    # -- scoring ---------------------------------------------------------------------------------------------

    def scores(
        self, queries: Sequence[Query], candidates: Candidates, options: Options | None = None
    ) -> Stages:
        """The score of every stage for the candidates that have signals."""
        options = options or Options()
        shape = candidates.top.rows.shape
        result = Stages({}, np.full(shape, -np.inf, np.float32))
        for kind, positions in by_kind(queries):
            part = [queries[i] for i in positions]
            scores = self._score_kind(kind, part, candidates.of(positions), options)
            for name, values in scores.items():
                result.scores.setdefault(name, np.full(shape, np.nan, np.float32))[positions] = values
            result.orders[kind] = next(reversed(scores))
            result.last[positions] = scores[result.orders[kind]]
        return with_seeds(queries, candidates, result)

    def _score_kind(
        self, kind: str, queries: Sequence[Query], candidates: Candidates, options: Options
    ) -> dict[str, Matrix]:
        """Scores of queries of one kind by stage; the last one orders the candidates."""
        scores, signals = self.score_all(queries, candidates)
        if not options.rerank or not self.uses_cross_encoder(kind):
            return scores
        top, signals = self.score_top(queries, candidates.top.rows, scores, signals, options.rerank)
        return self.final_scores(kind, top, scores, signals, options.cross_weight)

    def score_all(
        self, queries: Sequence[Query], candidates: Candidates
    ) -> tuple[dict[str, Matrix], dict[str, Matrix]]:
        """Score all candidates of queries of one kind.

        Returns:
            Scores (Q, k) by stage, of which the last orders the candidates, and all signals (Q, k) by name.
        """
        [(kind, _)] = by_kind(queries)
        top, signals = candidates.top, dict(candidates.signals)
        scores = {"first-stage": top.scores}
        if self.nnrank is not None and kind in QUERY_KINDS:
            signals["nnrank"] = self.nnrank.score(queries, top)
            scores["nnrank"] = signals["nnrank"]
            if kind not in self.nnrank_orders and kind not in self.fusions:
                # Moved to the end, because the last score orders the candidates.
                scores["first-stage"] = scores.pop("first-stage")
        if kind in self.fusions:
            scores["fusion"] = self.fusions[kind].scores(signals)
        return scores, signals

    def order_before_fusion(self, kind: str) -> str:
        """The score that orders the candidates of queries of a kind where no fusion does."""
        return "nnrank" if self.nnrank is not None and kind in self.nnrank_orders else "first-stage"

    def uses_cross_encoder(self, kind: str) -> bool:
        """Whether the cross-encoder reads queries of a kind: those it was made for, or those of a final fusion."""
        orders = set(getattr(self.cross_encoder, "kinds", QUERY_KINDS)).intersection(self.cross_orders)
        return self.cross_encoder is not None and (kind in orders or kind in self.finals)

    def score_top(
        self,
        queries: Sequence[Query],
        rows: NDArray[np.int32],
        scores: Mapping[str, Matrix],
        signals: Mapping[str, Matrix],
        count: int,
    ) -> tuple[TopCandidates, dict[str, Matrix]]:
        """Select the best candidates by the last of the stages so far, and let the cross-encoder score them.

        Args:
            queries: all of one kind.
            rows: (Q, k) candidates.
            scores: by stage, (Q, k) each.
            signals: by name, (Q, k) each.
            count: r, how many candidates the cross-encoder reads.

        Returns:
            The best candidates, and their signals (Q, r) with the rank features of that stage and the cross-encoder.
        """
        assert self.cross_encoder is not None
        *_, name = scores
        top = TopCandidates.select(rows, scores[name], count)
        return top, self.top_signals(top, name, signals, self.cross_encoder.score(queries, top.ranking))

    def top_signals(
        self, top: TopCandidates, name: str, signals: Mapping[str, Matrix], read: Matrix
    ) -> dict[str, Matrix]:
        """The signals (Q, r) of the best candidates.

        Args:
            top: the best candidates.
            name: of the stage that selected them.
            signals: of all candidates, (Q, k) each.
            read: (Q, r) the cross-encoder's scores of the best.
        """
        padding = top.ranking.rows == NO_ROW
        before = np.where(padding, np.nan, top.ranking.scores)
        return {
            **top.gather(signals),
            **rank_features(name, before.astype(np.float32)),
            **rank_features("cross-encoder", np.where(padding, np.nan, read).astype(np.float32)),
        }

    def final_scores(
        self,
        kind: str,
        top: TopCandidates,
        scores: Mapping[str, Matrix],
        signals: Mapping[str, Matrix],
        cross_weight: float,
    ) -> dict[str, Matrix]:
        """The scores by stage with the cross-encoder's and the final one, which orders the candidates.

        Args:
            kind: of the queries.
            top: the candidates that the cross-encoder has read.
            scores: (Q, k) by stage, of which the last selected them.
            signals: (Q, r) of :meth:`top_signals`.
            cross_weight: as in :class:`~cocite.pipeline.options.Options`.
        """
        if kind in self.finals:
            final = self.finals[kind].scores(signals)
        else:
            final = combine_standardised(top.ranking.scores, signals["cross-encoder"], cross_weight)
        final = np.where(top.ranking.rows == NO_ROW, -np.inf, final).astype(np.float32)
        return {
            **scores,
            "cross-encoder": top.scatter(signals["cross-encoder"]),
            "final": top.merge(final, scores[[*scores][-1]]),
        }

    def with_confidence(
        self, queries: Sequence[Query], candidates: Candidates, stages: Stages, options: Options
    ) -> Stages:
        """The stages with the probabilities of the last scores, where these are calibrated."""
        if self.confidence is None:
            return stages
        values = confidences(self.confidence, queries, candidates, stages, options)
        return stages if values is None else replace(stages, confidence=values)

    # -- ordering --------------------------------------------------------------------------------------------

    def order(
        self, queries: Sequence[Query], candidates: Candidates, options: Options | None = None
    ) -> Ranking:
        """All candidates, best first: those with signals in the order of the last stage, the others behind them."""
        top = candidates.top.rescored(self.scores(queries, candidates, options).last)
        return top.followed_by(candidates.ranking.after(top.depth))

    def rerank(
        self, queries: Sequence[Query], candidates: Candidates, options: Options | None = None
    ) -> list[list[Recommendation]]:
        """The recommendations of each query, best first, with scores per stage and evidence."""
        options = options or Options()
        stages = self.scores(queries, candidates, options)
        stages = self.with_confidence(queries, candidates, stages, options)
        stages = self.reordering.apply(candidates.top.rows, stages, options)
        return self.explainer.recommendations(queries, candidates, stages, options)

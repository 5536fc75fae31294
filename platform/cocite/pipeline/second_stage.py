"""The second stage: orders the candidates with all that is known of them, and says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bm25s.stopwords import STOPWORDS_EN_PLUS
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.pipeline.members import ENCODERS, load_fusions, load_nnrank
from cocite.pipeline.options import Candidates, Options, Recommendation
from cocite.protocols import NO_ROW, Evidence, Query, Ranking, Reranker
from cocite.reranking.learned_fusion import LearnedFusion
from cocite.retrieval.citing_sentences import CitingSentences
from cocite.retrieval.index import Index
from cocite.retrieval.neighbours import Neighbours
from cocite.retrieval.query_forms import manuscript_texts

WORDS = 8
NEIGHBOURS = 5
SENTENCES = 3
"""How many shared words, neighbours and sentences an author is shown of each paper."""
FUNCTION_WORDS = frozenset(STOPWORDS_EN_PLUS)
"""Words that are matched but no reason to cite anything: "we", "which", "from"."""


class SecondStage:
    """Reranks candidates: NNRank, if there is one, then the learned fusion of all signals, if there is one.

    Args:
        index: the papers and the history.
        nnrank: scores candidates by title and abstract.
        fusions: the learned fusion for ``local`` and ``global`` queries.
    """

    def __init__(
        self, index: Index, *, nnrank: Reranker | None = None, fusions: dict[str, LearnedFusion] | None = None
    ) -> None:
        self.index, self.nnrank, self.fusions = index, nnrank, fusions or {}

    @classmethod
    def load(cls, model: Path | None, index: Index) -> SecondStage:
        """The stage of a model folder over an index."""
        if model is None:
            return cls(index)
        nnrank, fusions = load_nnrank(model, index), load_fusions(model)
        read = {name for fusion in fusions.values() for name in fusion.names}
        if "vectors" in read:
            raise InputError(
                "the learned fusion was trained by an earlier version of cocite",
                where=str(model / "fusion"),
                hint="train the fusion again",
            )
        for name in ENCODERS:
            if name not in index.vectors and any(signal.partition(":")[0] == name for signal in read):
                raise InputError(
                    f"the learned fusion reads the similarity of {name}, and the index holds no vectors of it",
                    where=str(model / "fusion"),
                    hint="build the index with --model",
                )
        if "nnrank" in read and nnrank is None:
            raise InputError(
                "the learned fusion reads NNRank's score, and the model folder holds no nnrank",
                where=str(model / "fusion"),
                hint="train nnrank into it, or train the fusion again",
            )
        return cls(index, nnrank=nnrank, fusions=fusions)

    def scores(self, queries: Sequence[Query], candidates: Candidates) -> dict[str, NDArray[np.float32]]:
        """Score of every stage, each (Q, depth); the last one in the dictionary decides."""
        depth = next(iter(candidates.signals.values())).shape[1]
        top = candidates.ranking.top(depth)
        stages = {"first-stage": top.scores}
        signals = dict(candidates.signals)
        if self.nnrank is not None:
            stages["nnrank"] = signals["nnrank"] = self.nnrank.score(queries, top)
        if self.fusions:
            stages["fusion"] = self._fuse(queries, signals, stages)
        return stages

    def _fuse(
        self,
        queries: Sequence[Query],
        signals: dict[str, NDArray[np.float32]],
        stages: dict[str, NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        # A kind of query that no fusion was trained for keeps the order of the stage before.
        result = next(reversed(stages.values())).copy()
        local = np.array([query.is_local for query in queries], bool)
        for kind, chosen in (("local", local), ("global", ~local)):
            if kind in self.fusions and chosen.any():
                part = {name: values[chosen] for name, values in signals.items()}
                result[chosen] = self.fusions[kind].scores(part)
        return result

    def order(self, queries: Sequence[Query], candidates: Candidates) -> Ranking:
        """All candidates, best first: those with signals in the order of the last stage, the others behind them."""
        stages = self.scores(queries, candidates)
        last = next(reversed(stages.values()))
        depth = last.shape[1]
        ranking = candidates.ranking
        head = ranking.top(depth).rescored(last)
        if ranking.depth == depth:
            return head
        # The tail keeps its order; its scores are moved below the head's so that a run stays sorted.
        rows, scores = ranking.rows[:, depth:], ranking.scores[:, depth:]
        lowest = np.where(np.isfinite(head.scores), head.scores, np.inf).min(axis=1, keepdims=True)
        tail = np.where(rows == NO_ROW, -np.inf, lowest - 1 + (scores - ranking.scores[:, depth : depth + 1]))
        return Ranking(
            np.concatenate([head.rows, rows], axis=1),
            np.concatenate([head.scores, tail.astype(np.float32)], axis=1),
        )

    def rerank(
        self, queries: Sequence[Query], candidates: Candidates, options: Options | None = None
    ) -> list[list[Recommendation]]:
        """The recommendations of each query, best first, with scores per stage and evidence."""
        options = options or Options()
        if not queries:
            return []
        stages = self.scores(queries, candidates)
        last = next(reversed(stages.values()))
        rows = candidates.ranking.rows[:, : last.shape[1]]
        result = []
        for i, query in enumerate(queries):
            order = np.argsort(-np.where(rows[i] == NO_ROW, -np.inf, last[i]), kind="stable")
            order = order[rows[i][order] != NO_ROW][: options.top_k]
            chosen = rows[i][order]
            papers = self.index.corpus.papers_at(chosen)
            scores = [{name: float(values[i, j]) for name, values in stages.items()} for j in order]
            reasons = (
                self._evidence(query, i, chosen, candidates)
                if options.evidence
                else [Evidence()] * len(order)
            )
            result.append(
                [
                    Recommendation(
                        int(row),
                        paper.id,
                        paper.title,
                        paper.authors,
                        paper.year,
                        paper.venue,
                        paper.abstract,
                        paper.doi,
                        float(last[i, j]),
                        stage,
                        reason,
                    )
                    for row, j, paper, stage, reason in zip(
                        chosen, order, papers, scores, reasons, strict=True
                    )
                ]
            )
        return result

    def _evidence(
        self, query: Query, position: int, rows: NDArray[np.int32], candidates: Candidates
    ) -> list[Evidence]:
        text = manuscript_texts([query])[0]
        sentences, neighbours = CitingSentences(self.index), Neighbours(self.index)
        words = self.index.papers["text"].shared_terms_of(text, rows.tolist(), WORDS, FUNCTION_WORDS)
        result = []
        for row, shared in zip(rows.tolist(), words, strict=True):
            citing: tuple[int, ...] = ()
            quoted: tuple[tuple[int, str], ...] = ()
            if candidates.neighbour_voters is not None:
                citing = neighbours.evidence(candidates.neighbour_voters, position, row, NEIGHBOURS)
            if candidates.sentence_voters is not None:
                quoted = sentences.evidence(candidates.sentence_voters, position, row, SENTENCES)
            result.append(Evidence(tuple(shared), citing, quoted))
        return result

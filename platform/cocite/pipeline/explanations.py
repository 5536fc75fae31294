"""Recommendations with their reasons: what was found, how each stage scored it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Candidates, Options, Recommendation, Stages
from cocite.protocols import NO_ROW, CitingPaper, CitingSentence, Evidence, Query, SharedWord
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import manuscript_texts
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours

WORDS = 8
NEIGHBOURS = 5
SENTENCES = 3
"""How many shared words, neighbours and sentences an author is shown of each paper."""


@cache
def function_words() -> frozenset[str]:
    """Words that are matched but no reason to cite anything: "we", "which", "from"."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS  # its package takes a third of a second to import

    return frozenset(STOPWORDS_EN_PLUS)


class Explainer:
    """Makes recommendations of what the stages scored.

    Args:
        index: the papers and the history.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self.sentences, self.neighbours = CitingSentences(index), Neighbours(index)

    def recommendations(
        self, queries: Sequence[Query], candidates: Candidates, stages: Stages, options: Options
    ) -> list[list[Recommendation]]:
        """The best ``options.top_k`` papers of each query, best first."""
        rows = candidates.top.rows
        result = []
        for i, query in enumerate(queries):
            order = np.argsort(-np.where(rows[i] == NO_ROW, -np.inf, stages.last[i]), kind="stable")
            order = order[rows[i][order] != NO_ROW][: options.top_k]
            chosen = rows[i][order]
            reasons = (
                self.evidence(query, i, chosen, candidates) if options.evidence else [Evidence()] * len(order)
            )
            papers = self.index.corpus.papers_at(chosen)
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
                        float(stages.last[i, j]),
                        {
                            name: float(of[i, j])
                            for name, of in stages.scores.items()
                            if not np.isnan(of[i, j])
                        },
                        reason,
                    )
                    for row, j, paper, reason in zip(chosen, order, papers, reasons, strict=True)
                ]
            )
        return result

    def evidence(
        self, query: Query, position: int, rows: NDArray[np.int32], candidates: Candidates
    ) -> list[Evidence]:
        """Why each of some papers is recommended to a query, which is one at a position of the batch."""
        text = manuscript_texts([query])[0]
        words = self.index.papers["text"].shared_terms(text, rows.tolist(), WORDS, function_words())
        citing: list[tuple[int, ...]] = [()] * len(rows)
        quoted: list[tuple[tuple[int, str], ...]] = [()] * len(rows)
        if (near := candidates.neighbour_voters) is not None:
            citing = [self.neighbours.evidence(near, position, row, NEIGHBOURS) for row in rows.tolist()]
        if (heard := candidates.sentence_voters) is not None:
            quoted = [self.sentences.evidence(heard, position, row, SENTENCES) for row in rows.tolist()]
        papers = self._papers(
            {row for each in citing for row in each} | {row for each in quoted for row, _ in each}
        )
        return [
            Evidence(
                tuple(SharedWord(word, float(weight)) for word, weight in shared),
                tuple(papers[row] for row in near_rows),
                tuple(CitingSentence(text, *papers[row]) for row, text in sentences),
            )
            for shared, near_rows, sentences in zip(words, citing, quoted, strict=True)
        ]

    def _papers(self, rows: set[int]) -> dict[int, CitingPaper]:
        """Id, title and year of some rows, read together."""
        ordered = sorted(rows)
        columns = [self.index.corpus.papers.take(name, ordered) for name in ("id", "title", "year")]
        heads = zip(ordered, *columns, strict=True)
        return {row: CitingPaper(id_, title, year or None) for row, id_, title, year in heads}

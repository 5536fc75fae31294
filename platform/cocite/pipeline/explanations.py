"""Recommendations with their reasons: the paper, the score of each stage, and the evidence for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.evidence import MAX_AUTHORS, CitingPaper, CitingSentence, Evidence, SharedWord
from cocite.pipeline.options import Candidates, Options, Recommendation, Stages
from cocite.pipeline.seeds import seed_text
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import manuscript_texts
from cocite.retrieval.signals.citing_sentences import citing_sentences
from cocite.retrieval.signals.neighbours import citing_neighbours
from cocite.retrieval.signals.seed_links import linked_seeds

WORDS = 8
"""Shared words shown for each paper."""
NEIGHBOURS = 5
"""Similar papers shown that cite the paper."""
SENTENCES = 3
"""Sentences shown that cite the paper."""
SEEDS = 3
"""Liked papers shown that are linked with the paper."""


@cache
def function_words() -> frozenset[str]:
    """Words that match but are no reason to cite a paper: "we", "which", "from"."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS  # its package takes a third of a second to import

    return frozenset(STOPWORDS_EN_PLUS)


class Explainer:
    """Makes recommendations of scored candidates.

    Args:
        index: the papers and the history.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.first_stage import FirstStage
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> query = Query("q", title="Attention-based machine translation")
        >>> candidates = FirstStage(index).retrieve([query], Options(depth=10))
        >>> [evidence] = Explainer(index).evidence(query, 0, candidates.ranking.rows[0, :1], candidates)
        >>> "translation" in {shared.word for shared in evidence.shared_words}
        True
    """

    def __init__(self, index: SearchIndex) -> None:
        self.index = index

    def recommendations(
        self, queries: Sequence[Query], candidates: Candidates, stages: Stages, options: Options
    ) -> list[list[Recommendation]]:
        """The best ``options.top_k`` papers of each query behind the first ``options.offset``, best first."""
        rows = candidates.top.rows
        result = []
        for i, query in enumerate(queries):
            order = np.argsort(-np.where(rows[i] == NO_ROW, -np.inf, stages.last[i]), kind="stable")
            order = order[rows[i][order] != NO_ROW][options.offset : options.offset + options.top_k]
            best = rows[i][order]
            reasons = (
                self.evidence(query, i, best, candidates) if options.evidence else [Evidence()] * len(order)
            )
            papers = self.index.corpus.papers_at(best)
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
                            name: float(scores[i, j])
                            for name, scores in stages.scores.items()
                            if not np.isnan(scores[i, j])
                        },
                        reason,
                        _confidence(stages, i, j),
                    )
                    for row, j, paper, reason in zip(best, order, papers, reasons, strict=True)
                ]
            )
        return result

    def evidence(
        self, query: Query, position: int, rows: NDArray[np.int32], candidates: Candidates
    ) -> list[Evidence]:
        """The evidence for each of some papers.

        Args:
            query: the query.
            position: of the query in the batch of candidates.
            rows: (n,) the papers.
            candidates: of the batch, with the voters.
        """
        text = self._text(query)
        words = self.index.shared_terms(text, rows.tolist(), WORDS, function_words())
        citing: list[tuple[int, ...]] = [()] * len(rows)
        quoted: list[tuple[tuple[int, str], ...]] = [()] * len(rows)
        if (neighbours := candidates.neighbour_voters) is not None:
            citing = [
                citing_neighbours(self.index, neighbours, position, row, NEIGHBOURS) for row in rows.tolist()
            ]
        if (sentences := candidates.sentence_voters) is not None:
            quoted = [
                citing_sentences(self.index, sentences, position, row, SENTENCES) for row in rows.tolist()
            ]
        seeds = self._linked_seeds(query, rows)
        papers = self._citing_papers(
            {row for rows_ in (*citing, *seeds) for row in rows_}
            | {row for pairs in quoted for row, _ in pairs}
        )
        return [
            Evidence(
                tuple(SharedWord(word, float(weight)) for word, weight in shared),
                tuple(papers[row] for row in citing_rows),
                tuple(CitingSentence(text, *papers[row]) for row, text in quotes),
                tuple(papers[row] for row in seed_rows),
            )
            for shared, citing_rows, quotes, seed_rows in zip(words, citing, quoted, seeds, strict=True)
        ]

    def _text(self, query: Query) -> str:
        """The text whose words a paper may share: the query's, or that of the papers liked where it has none."""
        if query.kind != "seeds":
            return manuscript_texts([query])[0]
        return seed_text(self.index.corpus, query.like)

    def _linked_seeds(self, query: Query, rows: NDArray[np.int32]) -> list[list[int]]:
        """For each of some papers, the liked papers that are linked with it."""
        liked = np.unique(np.asarray(query.like, np.int64))
        if not len(liked):
            return [[]] * len(rows)
        history, until, own = self.index.history, query.candidates_until, query.paper
        return [linked_seeds(history, liked, row, until=until, without=own)[:SEEDS] for row in rows.tolist()]

    def _citing_papers(self, rows: set[int]) -> dict[int, CitingPaper]:
        """Row -> what evidence says of some papers; each column is read once."""
        ordered = sorted(rows)
        names = ("id", "title", "year", "authors", "venue", "doi")
        columns = [self.index.corpus.papers.take(name, ordered) for name in names]
        return {
            row: CitingPaper(id_, title, year or None, tuple(authors[:MAX_AUTHORS]), venue, doi)
            for row, id_, title, year, authors, venue, doi in zip(ordered, *columns, strict=True)
        }


def _confidence(stages: Stages, query: int, column: int) -> float | None:
    """The probability of a candidate; None where none is known."""
    if stages.confidence is None or np.isnan(value := stages.confidence[query, column]):
        return None
    return float(value)

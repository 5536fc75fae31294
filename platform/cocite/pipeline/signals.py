"""What is known of every (query, candidate) pair before any costly model looks at it.

A signal is a name with a score of each candidate. Some say how well texts match (BM25 by query form and field), some
what the past says (votes of similar sentences and of neighbours, anchor text), some who is involved (authors,
venue), some how much a paper is cited at all. The first stage blends a few of them over the whole corpus; the learned
fusion reads all of them for the candidates that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Encoder, Query, Ranking
from cocite.retrieval.anchors import Anchors, window_texts
from cocite.retrieval.bm25 import Bm25Index
from cocite.retrieval.citing_sentences import CitingSentences
from cocite.retrieval.dense import VectorRetriever
from cocite.retrieval.index import Index
from cocite.retrieval.neighbours import Neighbours
from cocite.retrieval.people import People, gather
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite.retrieval.votes import Votes, count_votes, relative

Matrix = NDArray[np.float32]

RECENT_YEARS = 2
WINDOW_VOTERS = 100


class Signals:
    """Computes signals over one index.

    Args:
        index: papers and history.
        encoder: made the index' vectors; None leaves the vector signals out.
    """

    def __init__(self, index: Index, encoder: Encoder | None = None) -> None:
        self.index = index
        self.vectors = VectorRetriever(index, encoder) if encoder is not None else None
        self.anchors = Anchors(index)
        self.people = People(index)
        self.sentences = CitingSentences(index)
        history = index.history
        self.year = history.year
        self.in_citations = history.in_citations.astype(np.float32)
        self.priors: dict[str, NDArray[np.float32]] = {
            "in-citations": np.log1p(self.in_citations),
            "recent-in-citations": np.log1p(history.recent_in_citations(RECENT_YEARS)).astype(np.float32),
            "contexts": np.log1p(self.anchors.contexts).astype(np.float32),
        }

    def of(self, queries: Sequence[Query]) -> BlockSignals:
        """The signals of some queries, all local or all global."""
        return BlockSignals(self, queries)


class BlockSignals:
    """The signals of a block of queries: dense over all papers for the blend, gathered for candidates.

    Attributes:
        sentence_voters: (Q, 100) nearest historical contexts, kept as evidence.
        neighbour_voters: (Q, 50) nearest papers, kept as evidence.
    """

    def __init__(self, signals: Signals, queries: Sequence[Query]) -> None:
        self.signals, self.queries = signals, queries
        self.index, self.local = signals.index, queries[0].is_local
        self.papers = len(self.index)
        self.texts = {
            form: query_texts(queries, form) for form in QueryForm if form is not QueryForm.KEY_TERMS
        }
        self.near = window_texts(queries)
        # (signal, texts, index): every lexical signal is one BM25 index asked with one form of the query.
        text, title = self.index.papers["text"], self.index.papers["title"]
        whole = self.texts[QueryForm.TITLE_ABSTRACT]
        self.lexical: dict[str, tuple[list[str], Bm25Index]] = {
            "title>text": (self.texts[QueryForm.TITLE], text),
            "title>title": (self.texts[QueryForm.TITLE], title),
            "whole>text": (whole, text),
            "whole>title": (whole, title),
            "whole>anchors": (whole, signals.anchors.whole),
        }
        if self.local:
            context = self.texts[QueryForm.CONTEXT]
            self.lexical |= {
                "context>text": (context, text),
                "context>title": (context, title),
                "context+title>text": (self.texts[QueryForm.CONTEXT_TITLE], text),
                "context>anchors": (context, signals.anchors.whole),
                "near>text": (self.near, text),
                "near>title": (self.near, title),
                "near>anchors": (self.near, signals.anchors.near),
            }
        self.dense: dict[str, Matrix] = {
            name: index.scores(texts) for name, (texts, index) in self.lexical.items()
        }
        self.people = self._involved()
        self.votes: dict[str, Votes] = {}
        self._vote()

    def _vote(self) -> None:
        index, signals = self.index, self.signals
        # The manuscript is known by all its text: what resembles it most are its neighbours.
        nearness = self.dense["whole>text"]
        if self.local:
            nearness = nearness + self.dense["context>text"]
        nearness = index.forbid(nearness.copy(), [_alone(query) for query in self.queries])
        counter = Neighbours(index)
        for count in (50,) if self.local else (20, 50, 150):
            voters = relative(Ranking.best(nearness, count))
            self.votes[f"neighbours-{count}"] = counter.count(voters)
            if count == 50:
                self.neighbour_voters = voters
        # Who cites the neighbours, too, works on the same things.
        self.votes["cites-neighbours"] = count_votes(
            self.neighbour_voters, index.history.cited_by, self.papers
        )
        self.sentence_voters = signals.sentences.voters(self.queries)
        self.votes["sentences"] = signals.sentences.count(self.sentence_voters)
        if self.local:
            windows = signals.anchors.windows.scores(self.near)
            begin, end = self._own_contexts()
            for row, first, last in zip(windows, begin, end, strict=True):
                row[first:last] = -np.inf
            self.votes["near-sentences"] = signals.sentences.count(
                relative(Ranking.best(windows, WINDOW_VOTERS))
            )

    def _involved(self) -> dict[str, sp.csr_matrix]:
        people = self.signals.people
        result = {
            "shared-authors": people.shared_authors(self.queries),
            "past-citations": people.past_citations(self.queries),
            "venue-interest": people.venue_interest(self.queries),
        }
        if self.local:
            result["names"] = people.names_in(self.texts[QueryForm.CONTEXT])
            result["near-names"] = people.names_in(self.near)
        return result

    def _own_contexts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        own = np.array([query.paper for query in self.queries], np.int64)
        papers = self.index.context_papers
        return np.searchsorted(papers, own, "left"), np.searchsorted(papers, own, "right")

    def over_all(self, name: str) -> Matrix:
        """(Q, N) a signal of every paper, scaled so that a query's best is 1 (0 where nothing speaks for a paper)."""
        return scaled(self._over_all(name))

    def _over_all(self, name: str) -> Matrix:
        if name in self.dense:
            return self.dense[name]
        if name in self.signals.priors:
            return np.broadcast_to(self.signals.priors[name], (len(self.queries), self.papers))
        if name == "vectors" and self.signals.vectors is not None:
            return self._vectors()
        if name in self.people:
            return np.asarray(self.people[name].toarray(), np.float32)
        source, _, kind = name.partition(":")
        if source not in self.votes:
            raise KeyError(name)
        return self.votes[source].dense(kind or "sum")

    def _vectors(self) -> Matrix:
        retriever = self.signals.vectors
        assert retriever is not None
        found = retriever.search(self.queries, min(1000, self.papers))
        result = np.zeros((len(self.queries), self.papers), np.float32)
        query, slot = np.nonzero(found.rows != NO_ROW)
        result[query, found.rows[query, slot]] = np.maximum(found.scores[query, slot], 0)
        return result

    def at(self, candidates: Ranking) -> dict[str, Matrix]:
        """All signals of the candidates (Q, k), by name; 0 at padding."""
        signals, rows = self.signals, candidates.rows
        safe = np.maximum(rows, 0)
        result: dict[str, NDArray[Any]] = {"first-stage": np.where(rows == NO_ROW, 0, candidates.scores)}
        for name, dense in self.dense.items():
            result[name] = np.take_along_axis(dense, safe, 1)
            best = dense.max(axis=1, keepdims=True)
            result[f"{name}/best"] = result[name] / np.where(best > 0, best, 1)
        cited = np.sqrt(1 + self.signals.in_citations[safe])
        described = np.sqrt(1 + self.signals.anchors.contexts[safe])
        for name, votes in self.votes.items():
            for kind in ("sum", "max", "cubes", "count"):
                result[f"{name}:{kind}"] = votes.at(rows, kind)
            usual = described if name.endswith("sentences") else cited
            result[f"{name}:sum/cited"] = result[f"{name}:sum"] / usual
            result[f"{name}:cubes/cited"] = result[f"{name}:cubes"] / usual
        for name, prior in signals.priors.items():
            result[name] = prior[safe]
        result |= self._time(safe)
        result |= {name: gather(matrix, rows) for name, matrix in self.people.items()}
        if signals.vectors is not None:
            result["vectors"] = signals.vectors.at(self.queries, rows)
        return {name: np.where(rows == NO_ROW, 0, value).astype(np.float32) for name, value in result.items()}

    def _time(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        years = self.index.corpus.years[rows].astype(np.float32)
        now = np.array([query.year or self.signals.year + 1 for query in self.queries], np.float32)[:, None]
        known = years > 0
        since = np.maximum(self.signals.year + 1 - years, 1)
        return {
            "age": np.where(known, now - years, np.nan),
            "citations-per-year": np.where(known, self.signals.in_citations[rows] / since, np.nan),
        }


def scaled(scores: Matrix) -> Matrix:
    """Scores (Q, N) divided by each query's best; 0 where the best is not above 0."""
    best = scores.max(axis=1, keepdims=True) if scores.shape[1] else scores
    return np.where(best > 0, scores / np.where(best > 0, best, 1), 0).astype(np.float32)


def _alone(query: Query) -> Query:
    """A query that forbids nothing but its own paper: excluded papers may still vote."""
    return Query(query.id, paper=query.paper)

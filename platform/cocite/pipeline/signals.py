"""The signals: cheap scores of every (query, candidate) pair, by name.

Signals measure how well texts match (``form>field``: BM25 of one form of the query against one field), how similar an
encoder's vectors are (its name), how often similar sentences and papers cite the candidate (votes), whether authors and
venue are shared, and how much the candidate is cited at all. The first stage blends a few of them over the whole
corpus; the learned fusion reads all of them for the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.errors import InputError, nearest
from cocite.protocols import NO_ROW, Encoder, Query, Ranking, require_finite
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite.retrieval.signals.anchors import Anchors, window_texts
from cocite.retrieval.signals.author_signals import AuthorSignals, gather
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.retrieval.signals.votes import KINDS, Votes, count_votes, relative
from cocite.retrieval.vector_retriever import VectorRetriever

Matrix = NDArray[np.float32]

RECENT_YEARS = 2
"""Years at the end of the history whose citations ``recent-in-citations`` counts."""
WINDOW_VOTERS = 100
"""Contexts that vote as ``near-sentences``: those whose words next to the gap are most like the query's."""
NEIGHBOURS = {True: (50,), False: (20, 50, 150)}
"""Whether queries are local -> numbers of neighbours that vote; each is one signal."""


class Signals:
    """Computes signals over one index.

    Args:
        index: papers and history.
        encoders: those whose vectors the index holds; each adds signals of its name.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> sorted(signals.counts)
        ['contexts', 'in-citations', 'recent-in-citations']
    """

    def __init__(self, index: Index, encoders: Sequence[Encoder] = ()) -> None:
        self.index = index
        self.retrievers = {encoder.name: VectorRetriever(index, encoder) for encoder in encoders}
        self.anchors = Anchors(index)
        self.people = AuthorSignals(index)
        self.sentences = CitingSentences(index)
        self.neighbours = Neighbours(index)
        self.year = index.history.year
        self.counts: dict[str, NDArray[np.float32]] = {
            "in-citations": index.history.in_citations.astype(np.float32),
            "recent-in-citations": index.history.recent_in_citations(RECENT_YEARS).astype(np.float32),
            "contexts": self.anchors.contexts.astype(np.float32),
        }

    def of(self, queries: Sequence[Query]) -> BlockSignals:
        """Compute the signals of some queries, all local or all global."""
        return BlockSignals(self, queries)


class BlockSignals:
    """The signals of a block of queries: dense over all papers for the blend, gathered for candidates.

    Attributes:
        sentence_voters: (Q, 100) most similar contexts of earlier papers, which are also shown as evidence.
        neighbour_voters: (Q, 50) most similar papers, which are also shown as evidence.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> signals = Signals(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> block = signals.of([Query("q", title="Attention-based machine translation")])
        >>> best = block.over_all("title>title").argmax(axis=1)
        >>> signals.index.corpus.papers.take("title", best)
        ['Effective Approaches to Attention-based Neural Machine Translation']
    """

    def __init__(self, signals: Signals, queries: Sequence[Query]) -> None:
        self.signals, self.queries = signals, queries
        self.index, self.local = signals.index, queries[0].is_local
        self.papers = len(self.index)
        self.own = SelfCitations(self.index, queries)
        self.near = window_texts(queries) if self.local else []
        self.dense = self._match_texts()
        self.vectors = self._encode_queries()
        self.people = self._match_authors()
        self.votes = self._count_votes()

    def _match_texts(self) -> dict[str, Matrix]:
        """BM25 of every form of the query against every field."""
        forms = {
            form: query_texts(self.queries, form) for form in QueryForm if form is not QueryForm.KEY_TERMS
        }
        title, whole = forms[QueryForm.TITLE], forms[QueryForm.TITLE_ABSTRACT]
        papers, anchors = self.index.papers, self.signals.anchors
        result = {
            "title>text": papers["text"].scores(title),
            "title>title": papers["title"].scores(title),
            "whole>text": papers["text"].scores(whole),
            "whole>title": papers["title"].scores(whole),
            "whole>anchors": anchors.scores(whole, self.own),
        }
        if self.local:
            context = self.context = forms[QueryForm.CONTEXT]
            result |= {
                "context>text": papers["text"].scores(context),
                "context>title": papers["title"].scores(context),
                "context+title>text": papers["text"].scores(forms[QueryForm.CONTEXT_TITLE]),
                "context>anchors": anchors.scores(context, self.own),
                "near>text": papers["text"].scores(self.near),
                "near>title": papers["title"].scores(self.near),
                "near>anchors": anchors.scores(self.near, self.own, near=True),
            }
        return result

    def _encode_queries(self) -> dict[str, Matrix]:
        """(Q, d) the queries' vectors by signal."""
        return {
            name: vectors
            for retriever in self.signals.retrievers.values()
            for name, vectors in retriever.encode(self.queries).items()
        }

    def _match_authors(self) -> dict[str, sp.csr_matrix]:
        """(Q, N) sparse: shared authors, what they cited before, what the venue cites, and names in the text."""
        people = self.signals.people
        result = {
            "shared-authors": people.shared_authors(self.queries),
            "past-citations": people.past_citations(self.queries, self.own),
            "venue-interest": people.venue_interest(self.queries, self.own),
        }
        if self.local:
            result["names"] = people.names_in(self.context)
            result["near-names"] = people.names_in(self.near)
        return result

    def _count_votes(self) -> dict[str, Votes]:
        """The votes of similar papers and of similar contexts for what they cite."""
        index, signals = self.index, self.signals
        # The neighbours of a manuscript are the papers that resemble all its text.
        nearness = self.dense["whole>text"]
        if self.local:
            nearness = nearness + self.dense["context>text"]
        # Excluded papers are not recommended, but may vote.
        nearness = index.forbid(
            nearness.copy(), [Query(query.id, paper=query.paper) for query in self.queries]
        )
        result: dict[str, Votes] = {}
        for count in NEIGHBOURS[self.local]:
            voters = relative(Ranking.best(nearness, count))
            result[f"neighbours-{count}"] = signals.neighbours.count(voters)
            if count == 50:
                self.neighbour_voters = voters
        # Papers that cite the neighbours are on the same subject.
        result["cites-neighbours"] = count_votes(self.neighbour_voters, index.history.cited_by, self.papers)
        self.sentence_voters = signals.sentences.nearest(self.queries)
        result["sentences"] = signals.sentences.count(self.sentence_voters)
        if self.local:
            windows = signals.anchors.windows.scores(self.near)
            for row, first, last in zip(windows, self.own.begin, self.own.end, strict=True):
                row[first:last] = -np.inf
            voters = relative(Ranking.best(windows, WINDOW_VOTERS))
            result["near-sentences"] = signals.sentences.count(voters)
        return result

    def over_all(self, name: str) -> Matrix:
        """(Q, N) a signal of every paper, scaled so that each query's best is 1.

        Raises:
            InputError: there is no signal of this name.
            IntegrityError: it is not a finite number for some paper.
        """
        scores = self._over_all(name)
        require_finite(scores.max(axis=1, initial=0), name, "scores")  # the maximum is NaN if any score is
        return scaled(scores)

    def _over_all(self, name: str) -> Matrix:
        if name in self.dense:
            return self.dense[name]
        if name in self.signals.counts:
            counts: Matrix = self.signals.counts[name] - self._own_counts(name).toarray()
            return np.log1p(counts)
        if name in self.vectors:
            return self._retriever(name).over_all(self.queries, self.vectors[name])
        if name in self.people:
            return np.asarray(self.people[name].toarray(), np.float32)
        source, colon, kind = name.partition(":")
        if source not in self.votes or (colon and kind not in KINDS):
            known = [*self.dense, *self.vectors, *self.signals.counts, *self.people, *self.votes]
            raise InputError(f"no signal is called {name!r}", where="weights", hint=nearest(name, known))
        return self.votes[source].dense(kind or "sum")

    def _own_counts(self, name: str) -> sp.csr_matrix:
        """(Q, N) what a query's own paper adds to a count; a paper of an earlier year adds nothing to a recent one."""
        if name == "contexts":
            return self.own.contexts()
        if name == "recent-in-citations":
            recent = self.index.corpus.years[self.own.papers] > self.signals.year - RECENT_YEARS
            return (sp.diags(recent.astype(np.float32)) @ self.own.links).tocsr()
        return self.own.links

    def _retriever(self, name: str) -> VectorRetriever:
        """The retriever that holds the vectors of a signal."""
        return self.signals.retrievers[name.partition(":")[0]]

    def at(self, candidates: Ranking) -> dict[str, Matrix]:
        """All signals of the candidates (Q, k), by name; 0 at padding, and NaN for the age of a paper without a year.

        Raises:
            IntegrityError: another one is not a finite number.
        """
        signals, rows = self.signals, candidates.rows
        safe = np.maximum(rows, 0)
        result: dict[str, NDArray[Any]] = {"first-stage": np.where(rows == NO_ROW, 0, candidates.scores)}
        for name, dense in self.dense.items():
            result[name] = np.take_along_axis(dense, safe, 1)
            best = dense.max(axis=1, keepdims=True)
            result[f"{name}/best"] = result[name] / np.where(best > 0, best, 1)
        counts = {
            name: all_[safe] - gather(self._own_counts(name), rows) for name, all_ in signals.counts.items()
        }
        for name, votes in self.votes.items():
            for kind in ("sum", "max", "cubes", "count"):
                result[f"{name}:{kind}"] = votes.at(rows, kind)
            # Much-cited papers get votes from every query, so votes are also divided by the usual number.
            usual = np.sqrt(1 + counts["contexts" if name.endswith("sentences") else "in-citations"])
            result[f"{name}:sum/cited"] = result[f"{name}:sum"] / usual
            result[f"{name}:cubes/cited"] = result[f"{name}:cubes"] / usual
        result |= {name: np.log1p(values) for name, values in counts.items()}
        years = self.index.corpus.years[safe].astype(np.float32)
        now = np.array([query.year or signals.year + 1 for query in self.queries], np.float32)[:, None]
        result["age"] = np.where(years > 0, now - years, np.nan)
        result["citations-per-year"] = counts["in-citations"] / np.maximum(signals.year + 1 - years, 1)
        result |= {name: gather(matrix, rows) for name, matrix in self.people.items()}
        for name, vectors in self.vectors.items():
            result[name] = self._retriever(name).vectors.similarities(vectors, rows)
        result = {
            name: np.where(rows == NO_ROW, 0, value).astype(np.float32) for name, value in result.items()
        }
        for name, values in result.items():
            if name != "age":
                require_finite(values, name, "scores")
        return result


def scaled(scores: Matrix) -> Matrix:
    """Scores (Q, N) divided by each query's best; 0 for a query whose best is not above 0.

    Example:
        >>> scaled(np.array([[2.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
        [[0.5, 1.0], [0.0, 0.0]]
    """
    best = scores.max(axis=1, keepdims=True) if scores.shape[1] else scores
    return np.where(best > 0, scores / np.where(best > 0, best, 1), 0).astype(np.float32)

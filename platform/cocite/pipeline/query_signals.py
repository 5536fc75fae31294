"""The signals of a block of queries: what they are, whichever papers they are computed for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError, nearest
from cocite.phases import phase
from cocite.pipeline.signals import RECENT_YEARS, Signals
from cocite.protocols import NO_ROW, Query, Ranking, require_finite
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter
from cocite.retrieval.signals.anchors import window_texts
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.retrieval.signals.sparse_scores import SparseScores
from cocite.retrieval.signals.votes import KINDS, Votes, count_votes

Matrix = NDArray[np.float32]

SENTENCE_VOTERS = 100
"""Contexts that vote as ``sentences``: those most like the whole context, or like title and abstract."""
WINDOW_VOTERS = 100
"""Contexts that vote as ``near-sentences``: those whose words next to the gap are most like the query's."""
NEIGHBOURS = {True: (50,), False: (20, 50, 150)}
"""Whether queries are local -> numbers of neighbours that vote; each is one signal."""


class TextSignal(NamedTuple):
    """BM25 of one form of the query against one field.

    Example:
        >>> TEXT_SIGNALS["near>anchors"]
        TextSignal(form='near', field='near anchors', local=True)
    """

    form: str
    """A key of :attr:`QuerySignals.texts`."""
    field: str
    """``text`` or ``title`` of the papers; ``anchors`` or ``near anchors`` of what contexts say of them."""
    local: bool = False
    """Whether only local queries have it."""


TEXT_SIGNALS: Mapping[str, TextSignal] = {
    "title>text": TextSignal("title", "text"),
    "title>title": TextSignal("title", "title"),
    "whole>text": TextSignal("whole", "text"),
    "whole>title": TextSignal("whole", "title"),
    "whole>anchors": TextSignal("whole", "anchors"),
    "context>text": TextSignal("context", "text", local=True),
    "context>title": TextSignal("context", "title", local=True),
    "context+title>text": TextSignal("context+title", "text", local=True),
    "context>anchors": TextSignal("context", "anchors", local=True),
    "near>text": TextSignal("near", "text", local=True),
    "near>title": TextSignal("near", "title", local=True),
    "near>anchors": TextSignal("near", "near anchors", local=True),
}


class QuerySignals(ABC):
    """The signals of some queries, all local or all global.

    Args:
        signals: what they are computed from.
        queries: Q queries, at least one.

    Attributes:
        texts: (Q,) each form of the queries' texts.
        own: the queries' own links and contexts.
        vectors: (Q, d) the queries' vectors by signal.
        votes: the votes of similar papers and of similar contexts for what they cite.
        sentence_voters: (Q, 100) most similar contexts of earlier papers, which are also shown as evidence.
        neighbour_voters: (Q, 50) most similar papers, which are also shown as evidence.
        seed_scale: (Q, 1) what scores by seeds are multiplied with, once :meth:`ranking` has added them.

    Example:
        >>> issubclass(QuerySignals, ABC), "whole>text" in TEXT_SIGNALS
        (True, True)
    """

    neighbour_voters: Ranking
    seed_scale: Matrix

    def __init__(self, signals: Signals, queries: Sequence[Query]) -> None:
        self.signals, self.queries = signals, queries
        self.index, self.local = signals.index, queries[0].is_local
        self.papers = len(self.index)
        self.own = SelfCitations(self.index, queries)
        self.texts = {
            "title": query_texts(queries, QueryForm.TITLE),
            "whole": query_texts(queries, QueryForm.TITLE_ABSTRACT),
        }
        if self.local:
            self.texts |= {
                "context": query_texts(queries, QueryForm.CONTEXT),
                "context+title": query_texts(queries, QueryForm.CONTEXT_TITLE),
                "near": window_texts(queries),
            }
        self.text_signals = {
            name: signal for name, signal in TEXT_SIGNALS.items() if self.local or not signal.local
        }
        with phase("encode"):
            self.vectors: dict[str, Matrix] = {
                name: vectors
                for encoder in signals.encoders.values()
                for name, vectors in encoder.encode(queries).items()
            }
        self.people = self._match_authors()
        self.votes: dict[str, Votes] = {}

    def _match_authors(self) -> dict[str, SparseScores]:
        """(Q, N) sparse: shared authors, what they cited before, what the venue cites, and names in the text."""
        people = self.signals.people
        result = {
            "shared-authors": people.shared_authors(self.queries),
            "past-citations": people.past_citations(self.queries, self.own),
            "venue-interest": people.venue_interest(self.queries, self.own),
        }
        if self.local:
            result["names"] = people.names_in(self.texts["context"])
            result["near-names"] = people.names_in(self.texts["near"])
        return result

    def _count_votes(self, neighbours: Ranking, sentences: Ranking, windows: Ranking | None) -> None:
        """Count the votes of voters: ``neighbours`` (Q, 150 or 50) papers, ``sentences`` and ``windows`` contexts."""
        cites = self.index.history.cites
        for count in NEIGHBOURS[self.local]:
            self.votes[f"neighbours-{count}"] = count_votes(neighbours.top(count), cites, self.papers)
        self.neighbour_voters, self.sentence_voters = neighbours.top(50), sentences
        # Papers that cite the neighbours are on the same subject.
        cited_by = self.index.history.cited_by
        self.votes["cites-neighbours"] = count_votes(self.neighbour_voters, cited_by, self.papers)
        by_context = self.index.cited_by_context
        self.votes["sentences"] = count_votes(sentences, by_context, self.papers)
        if windows is not None:
            self.votes["near-sentences"] = count_votes(windows, by_context, self.papers)

    # -- what each way of computing them defines -------------------------------------------------------------

    @abstractmethod
    def ranking(
        self,
        weights: Mapping[str, float],
        width: int,
        papers: PaperFilter = EVERYTHING,
        seeds: SparseScores | None = None,
    ) -> Ranking:
        """The ``width`` best papers of each query by the weighted sum of scaled signals.

        Args:
            weights: signal -> weight; each signal is scaled so that the query's best is 1.
            width: columns of the ranking.
            papers: those that may be retrieved, beside what each query forbids.
            seeds: (Q, N) scores by seeds, which :func:`~cocite.pipeline.seeds.add_seeds` adds.
        """

    @abstractmethod
    def texts_at(self, rows: NDArray[np.int32]) -> dict[str, Matrix]:
        """(Q, k) each text signal of given papers (Q, k)."""

    @abstractmethod
    def similarities_at(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, k) the similarity of given papers (Q, k) to the queries' vectors of a signal."""

    @abstractmethod
    def text_best(self, name: str) -> Matrix:
        """(Q, 1) the best score of a text signal."""

    # -- values ----------------------------------------------------------------------------------------------

    def check(self, name: str) -> None:
        """Refuse a name that no signal of these queries has.

        Raises:
            InputError: the message names the signal that is spelled most alike.
        """
        votes, colon, kind = name.partition(":")
        named = {*self.text_signals, *self.vectors, *self.signals.counts, *self.people}
        if name not in named and (votes not in self.votes or (colon and kind not in KINDS)):
            known = [*named, *self.votes]
            raise InputError(f"no signal is called {name!r}", where="weights", hint=nearest(name, known))

    def counts_at(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, k) a count of given papers, without what the query's own paper adds to it."""
        result: Matrix = self.signals.counts[name][np.maximum(rows, 0)] - self.own_counts(name).at(rows)
        return result

    def own_counts(self, name: str) -> SparseScores:
        """(Q, N) what a query's own paper adds to a count; a paper of an earlier year adds nothing to a recent one."""
        if name == "contexts":
            return self.own.contexts()
        if name == "recent-in-citations":
            recent = self.index.corpus.years[self.own.papers] > self.signals.year - RECENT_YEARS
            return self.own.links.only(recent)
        return self.own.links

    def value_at(self, name: str, rows: NDArray[np.int32]) -> Matrix:
        """(Q, k) a signal other than of texts, of given papers."""
        if name in self.signals.counts:
            return np.log1p(self.counts_at(name, rows))
        if name in self.vectors:
            return self.similarities_at(name, rows)
        if name in self.people:
            return self.people[name].at(rows)
        votes, _, kind = name.partition(":")
        return self.votes[votes].at(rows, kind or "sum")

    def at(self, candidates: Ranking) -> dict[str, Matrix]:
        """All signals of the candidates (Q, k), by name; 0 at padding, and NaN for the age of a paper without a year.

        Raises:
            IntegrityError: another one is not a finite number.
        """
        signals, rows = self.signals, candidates.rows
        safe = np.maximum(rows, 0)
        result: dict[str, NDArray[Any]] = {"first-stage": np.where(rows == NO_ROW, 0, candidates.scores)}
        for name, values in self.texts_at(rows).items():
            result[name] = values
            best = self.text_best(name)
            result[f"{name}/best"] = values / np.where(best > 0, best, 1)
        counts = {name: self.counts_at(name, rows) for name in signals.counts}
        for name, votes in self.votes.items():
            result |= {f"{name}:{kind}": values for kind, values in votes.kinds_at(rows).items()}
            # Much-cited papers get votes from every query, so votes are also divided by the usual number.
            usual = np.sqrt(1 + counts["contexts" if name.endswith("sentences") else "in-citations"])
            result[f"{name}:sum/cited"] = result[f"{name}:sum"] / usual
            result[f"{name}:cubes/cited"] = result[f"{name}:cubes"] / usual
        result |= {name: np.log1p(values) for name, values in counts.items()}
        years = self.index.corpus.years[safe].astype(np.float32)
        now = np.array([query.year or signals.year + 1 for query in self.queries], np.float32)[:, None]
        result["age"] = np.where(years > 0, now - years, np.nan)
        result["citations-per-year"] = counts["in-citations"] / np.maximum(signals.year + 1 - years, 1)
        result |= {name: self.value_at(name, rows) for name in (*self.people, *self.vectors)}
        padding = rows == NO_ROW
        if padding.any():
            result = {name: np.where(padding, 0, values) for name, values in result.items()}
        result = {name: values.astype(np.float32, copy=False) for name, values in result.items()}
        # One check of a sum, which is not finite if a term is not, instead of one for each signal.
        if not np.isfinite(sum(values for name, values in result.items() if name != "age")).all():
            for name, values in result.items():
                if name != "age":
                    require_finite(values, name, "scores")
        return result


def scaled(scores: Matrix, best: Matrix | None = None) -> Matrix:
    """Scores (Q, N) divided by each query's best; 0 for a query whose best is not above 0.

    Args:
        scores: of any papers.
        best: (Q, 1) the best of all papers, where ``scores`` are of some alone.

    Example:
        >>> scaled(np.array([[2.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
        [[0.5, 1.0], [0.0, 0.0]]
    """
    if best is None:
        best = scores.max(axis=1, keepdims=True) if scores.shape[1] else scores
    return np.where(best > 0, scores / np.where(best > 0, best, 1), 0).astype(np.float32)

"""The first stage: from all papers to a few hundred candidates, by a weighted blend of cheap signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError
from cocite.phases import phase
from cocite.pipeline.components import ENCODERS, load_blend, load_encoders
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.options import Candidates, Options, by_kind
from cocite.pipeline.pooled_signals import UNLIMITED_POOL, PooledSignals, PoolLimits
from cocite.pipeline.query_signals import QuerySignals
from cocite.pipeline.seeds import SIGNAL, SeedScores, without_seeds
from cocite.pipeline.signals import Signals
from cocite.pipeline.weights import weights_for
from cocite.protocols import NO_ROW, Encoder, Query, Ranking
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.shards.paper_filter import PaperFilter

CELLS = 1_500_000
"""Queries times papers of a block (6 MB for each dense signal, of which a block holds some thirty)."""
DENSE_LIMIT = 30_000
"""Up to so many papers all of them are scored: for one query alone that is as quick as pools, for batches quicker."""


class FirstStage:
    """Finds candidates; a :class:`~cocite.protocols.Retriever`.

    Args:
        index: the papers that are searched.
        encoders: those whose vectors the index holds and whose signals are blended.
        weights: signal -> weight for ``local`` and ``global`` queries, in place of those of
            :mod:`cocite.pipeline.weights`; signals of encoders that are not in use are left out.
        dense: whether every paper is scored by every signal; None: up to :data:`DENSE_LIMIT` papers. An index of
            several shards never is.
        limits: how many candidates are generated where not every paper is scored; the usual ones by default.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> first = FirstStage(Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> candidates = first.retrieve([Query("q", title="Machine translation", year=2012)], Options(depth=5))
        >>> candidates.ranking.rows.shape, sorted(candidates.signals)[:2]
        ((1, 5), ['age', 'citations-per-year'])
    """

    name = "first-stage"

    def __init__(
        self,
        index: SearchIndex,
        encoders: Sequence[Encoder] = (),
        *,
        weights: Mapping[str, Mapping[str, float]] | None = None,
        dense: bool | None = None,
        limits: PoolLimits | None = None,
    ) -> None:
        if not len(index):
            raise InputError("the index holds no paper, so there is nothing to recommend", hint="add some")
        self.index = index
        self.weights = weights or weights_for([encoder.name for encoder in encoders])
        self.signals = Signals(index, encoders)
        self.seeds = SeedScores(self.signals)
        whole = isinstance(index, Index)
        self.dense = whole and (len(index) <= DENSE_LIMIT if dense is None else dense)
        self.limits = (limits or PoolLimits()).of_shards(len(index.shards))

    @classmethod
    def load(cls, model: Path | None, index: SearchIndex) -> FirstStage:
        """The stage of a model folder over an index, with the encoders that both have.

        Raises:
            InputError: another encoder made the index' vectors, or the folder's blend does not fit.
        """
        return cls.over(model, index, load_encoders(model, among=tuple(index.encoder_ids)))

    @classmethod
    def over(cls, model: Path | None, index: SearchIndex, encoders: Sequence[Encoder]) -> FirstStage:
        """The same with loaded encoders; of the model folder only the ``blend`` is read, if it has one.

        Raises:
            InputError: the blend weighs an unknown signal, or was tuned without one of the encoders.
        """
        names = [encoder.name for encoder in encoders]
        blend = load_blend(model, names)
        stage = cls(index, encoders, weights=weights_for(names, blend))
        for kind in blend.kinds if blend else ():
            stage._check_weights(kind, str(model / "blend") if model else "")
        return stage

    def _check_weights(self, kind: str, where: str) -> None:
        """Look each weighted signal up once: loading refuses an unknown signal, not the first query."""
        context = "as was shown by [CIT] before" if kind == "local" else ""
        query = Query("try", context, title="a title", abstract="an abstract")
        block = PooledSignals(self.signals, [query])
        for name in self.weights[kind]:
            encoder = name.partition(":")[0]
            if encoder in ENCODERS and encoder not in self.signals.encoders:
                continue  # the blend leaves out the signals of encoders that are not in use
            try:
                block.check(name)
            except InputError as error:
                raise InputError(
                    f"{error.message} for {kind} queries", where=where, hint=error.hint
                ) from error

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query by the blend."""
        return self.retrieve(queries, Options(top_k=k, depth=1), wide=k).ranking

    def retrieve(
        self, queries: Sequence[Query], options: Options | None = None, *, wide: int = 0
    ) -> Candidates:
        """Find the candidates of each query, and all signals of the first ``options.depth``.

        Args:
            queries: local and global ones may be mixed; a signal that a kind of query lacks is NaN.
            options: how many candidates, and which papers are allowed.
            wide: columns of the ranking, where that is more than ``depth``; the further ones have no signals.
        """
        options = options or Options()
        queries = [without_seeds(query) for query in options.restricted(queries)]
        allowed = self._filter(options)
        parts: list[tuple[list[int], Candidates]] = []
        step = int(np.clip(CELLS // max(len(self.index), 1), 1, 64))
        for _, positions in by_kind(queries):
            for start in range(0, len(positions), step):
                part = positions[start : start + step]
                block = [queries[i] for i in part]
                parts.append((part, self._retrieve_block(block, options, allowed, max(wide, options.depth))))
        found = _join(
            parts,
            len(queries),
            min(options.depth, len(self.index)),
            min(max(wide, options.depth), len(self.index)),
        )
        return replace(found, unlike=tuple(self.index.are_unlike(queries).tolist()))

    def _retrieve_block(
        self, queries: Sequence[Query], options: Options, papers: PaperFilter, width: int
    ) -> Candidates:
        with phase("generate"):
            signals = self._signals(queries, width)
        with phase("score"):
            weights = self._weights(signals, options)
            seeds = self.seeds.of(queries)
            ranking = signals.ranking(weights, min(width, len(self.index)), papers, seeds)
            top = ranking.top(options.depth)
            if seeds is None:
                values = signals.at(top)
            else:
                of_seeds = seeds.at(top.rows)
                # What a learned stage reads of the first one is its score by the text, as it was in training.
                values = signals.at(Ranking(top.rows, top.scores - signals.seed_scale * of_seeds))
                seeded = np.array([query.has_seeds for query in queries])[:, None]
                values[SIGNAL] = np.where(seeded & (top.rows != NO_ROW), of_seeds, np.float32(np.nan))
        return Candidates(
            ranking,
            values,
            signals.sentence_voters,
            signals.neighbour_voters,
            tuple(sorted(signals.missing)) if isinstance(signals, PooledSignals) else (),
        )

    def _weights(self, signals: QuerySignals, options: Options) -> dict[str, float]:
        """The blend's weights of the signals that are in use, as the options change them."""
        kind = signals.queries[0].kind
        if kind == "seeds":
            return {}  # there is no text that a signal could match
        weights = {
            name: weight
            for name, weight in self.weights[kind].items()
            if name in signals.vectors or name.partition(":")[0] not in ENCODERS
        }
        if not (options.retrievers or options.weights):
            return weights
        for field, names in (("retrievers", options.retrievers), ("weights", dict(options.weights))):
            for name in names:
                try:
                    signals.check(name)
                except InputError as error:
                    message = f"{error.message} for {kind} queries"
                    raise InputError(message, where=field, hint=error.hint) from error
        if options.retrievers:
            weights = {name: weights.get(name, 1.0) for name in options.retrievers}
        weights = {name: weight for name, weight in {**weights, **dict(options.weights)}.items() if weight}
        if not weights:
            raise InputError("no signal is left to find candidates", where="weights")
        return weights

    def _signals(self, queries: Sequence[Query], width: int) -> QuerySignals:
        """The signals of a block; a ranking of a good part of all papers needs the scores of all."""
        everything = width > len(self.index) // 4
        if isinstance(self.index, Index) and (self.dense or everything):
            return DenseSignals(self.signals, queries)
        return PooledSignals(self.signals, queries, UNLIMITED_POOL if everything else self.limits)

    def _filter(self, options: Options) -> PaperFilter:
        """The papers that the options allow."""
        rows = list(options.exclude)
        if options.exclude_authors:
            rows += self.signals.people.papers_of(options.exclude_authors).tolist()
        return PaperFilter.rows(rows, only=options.only, year_from=options.year_from, year_to=options.year_to)


def _join(parts: Sequence[tuple[list[int], Candidates]], queries: int, depth: int, width: int) -> Candidates:
    """The candidates of all blocks in the order of the queries."""
    if len(parts) == 1 and parts[0][1].ranking.depth == width:
        return parts[0][1]
    rows = np.full((queries, width), NO_ROW, np.int32)
    scores = np.full((queries, width), -np.inf, np.float32)
    signals: dict[str, NDArray[np.float32]] = {}
    for positions, part in parts:
        rows[positions], scores[positions] = part.ranking.rows, part.ranking.scores
        for name, values in part.signals.items():
            signals.setdefault(name, np.full((queries, depth), np.nan, np.float32))[positions] = values
    return Candidates(
        Ranking(rows, scores),
        signals,
        _join_voters([(positions, part.sentence_voters) for positions, part in parts], queries),
        _join_voters([(positions, part.neighbour_voters) for positions, part in parts], queries),
        tuple(sorted({number for _, part in parts for number in part.missing_shards})),
    )


def _join_voters(parts: Sequence[tuple[list[int], Ranking | None]], queries: int) -> Ranking:
    """The voters of all blocks in the order of the queries."""
    width = max((voters.depth for _, voters in parts if voters is not None), default=0)
    rows = np.full((queries, width), NO_ROW, np.int32)
    scores = np.full((queries, width), -np.inf, np.float32)
    for positions, voters in parts:
        if voters is not None:
            rows[positions, : voters.depth], scores[positions, : voters.depth] = voters.rows, voters.scores
    return Ranking(rows, scores)

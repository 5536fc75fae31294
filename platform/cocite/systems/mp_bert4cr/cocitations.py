"""Draws further positives of a citation by co-citation (MP-BERT4CR, section 4.1.3, Eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.context_links import ContextLinks
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.sampling.draws import POSITIVES, SEARCHED, Draws
from cocite.sampling.noise import POWER, powers

Source = Literal["history", "context", "both"]
SMALL = 256
"""Most co-citations of a target that are weighed one by one; of more, positives are drawn by search."""
ROUNDS = 16
"""Searches for each positive, as a search may find a paper that is already chosen."""


@dataclass(frozen=True)
class CocitationMasses:
    """The papers that each paper is cited with, and their frequencies to a power.

    Attributes:
        pairs: the papers that each of N papers is cited with: P pairs.
        masses: (P,) float64 frequency ^ power of each pair, aligned with ``pairs.indices``.
        ends: (P + 1,) float64 0 and the cumulative sums of the masses.

    Example:
        >>> pairs = CSR.build(rows=[0, 1, 1, 2], entries=[1, 0, 2, 1], count=3)
        >>> CocitationMasses(pairs, np.ones(4), np.arange(5.0)).of_pairs(np.array([1, 0]), np.array([2, 2]))
        array([1., 0.])
    """

    pairs: CSR
    masses: NDArray[np.float64]
    ends: NDArray[np.float64]

    @classmethod
    def of(cls, history: History, power: float = POWER) -> CocitationMasses:
        """Those of a history's contexts.

        Raises:
            ConfigError: the power is negative.
        """
        pairs, times = history.cocitations
        masses = powers(times, power)
        return cls(pairs, masses, np.concatenate([[0.0], np.cumsum(masses)]))

    def of_pairs(self, targets: NDArray[np.int64], rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """(m,) the mass of each pair (target, paper); 0 for papers never cited together."""
        if not len(self.masses):
            return np.zeros(len(rows))
        at = self.pairs.find(targets, rows)
        return np.where(at >= 0, self.masses[at], 0.0)


class CocitationSampler:
    """Draws papers that are cited together with a target, with the probabilities p(i) of Eq. 1.

    They are drawn one after the other without replacement, each with the frequencies ^ power of the papers that are
    left.

    The paper does not say clearly from which set. Its section 4.1.3 draws from all papers by their historical
    co-citations with the target, "for the query context with multiple ground-truth citations": ``history``, with
    ``single`` off. Section 4.1.5 can also be read as if the positives were those that the context itself cites beside
    the target: ``context``. ``both`` takes these first and then adds papers from the history.

    Args:
        contexts: of the corpus, at least those that are drawn for.
        cocitations: what may be drawn from the history.
        source: the set that positives are drawn from.
        single: whether a context that cites the target alone gets positives too (from the history).

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     context = int(np.flatnonzero(corpus.context_cited.degrees > 1)[0])
        ...     target, *others = corpus.context_cited[context].tolist()
        ...     sampler = CocitationSampler.of(History.all(corpus), source="context")
        ...     positives = sampler.draw(np.array([context]), np.array([target]), 3, Draws(0, 0, np.array([0])))
        >>> set(positives[0].tolist()) <= {*others, NO_ROW}
        True
    """

    def __init__(
        self,
        contexts: ContextLinks,
        cocitations: CocitationMasses,
        *,
        source: Source = "history",
        single: bool = False,
    ) -> None:
        self.source, self.single = source, single
        self.contexts, self.cocitations = contexts, cocitations

    @classmethod
    def of(
        cls, history: History, power: float = POWER, *, source: Source = "history", single: bool = False
    ) -> CocitationSampler:
        """The sampler of a history.

        Args:
            history: the contexts whose co-citations are counted.
            power: of the frequencies: 0 draws evenly.
            source: see above.
            single: see above.

        Raises:
            ConfigError: the power is negative.
        """
        masses = CocitationMasses.of(history, power)
        return cls(ContextLinks.of(history.corpus), masses, source=source, single=single)

    def draw(
        self, contexts: NDArray[np.integer], targets: NDArray[np.integer], count: int, draws: Draws
    ) -> NDArray[np.int32]:
        """(b, count) distinct positives of the targets of contexts: never the target, never the citing paper.

        Args:
            contexts: (b,) positions in the store.
            targets: (b,) one of the papers that each context cites.
            count: n; 3 in the paper.
            draws: the random numbers of b examples.

        Returns:
            Papers in the order drawn, padded with ``NO_ROW`` where there are no more.
        """
        wanted = np.asarray(targets, np.int64)
        groups, pairs = self.contexts.cited, self.cocitations.pairs
        chosen = np.full((len(contexts), count), NO_ROW, np.int32)
        if not count:
            return chosen
        citing = np.asarray(self.contexts.citing[contexts], np.int64)
        if self.source != "history":
            owner, rows = groups.gather(contexts)
            self._choose(chosen, owner, rows, wanted, citing, draws.of(POSITIVES))
        if self.source != "context":
            several = groups.indptr[contexts + 1] - groups.indptr[contexts] > 1
            eligible = np.flatnonzero(several | self.single)
            degrees = pairs.indptr[wanted + 1] - pairs.indptr[wanted]
            many = eligible[degrees[eligible] > SMALL]
            self._search(chosen, many, wanted, citing, draws.of(SEARCHED))
            lacking = eligible[(chosen[eligible, -1] == NO_ROW) & (degrees[eligible] > 0)]
            owner, rows = pairs.gather(wanted[lacking])
            owner = lacking[owner]
            self._choose(chosen, owner, rows, wanted, citing, draws.of(POSITIVES))
        return chosen

    def _choose(
        self,
        chosen: NDArray[np.int32],
        owner: NDArray[np.int64],
        rows: NDArray[np.int32],
        targets: NDArray[np.int64],
        citing: NDArray[np.int64],
        draws: Draws,
    ) -> None:
        """Fill the free columns of ``chosen`` from candidates: paper ``rows[i]`` for example ``owner[i]``.

        Each candidate gets a time that is exponentially distributed with its mass as the rate; those with the least
        times are chosen. That is drawing without replacement (Efraimidis and Spirakis 2006). A candidate's time is a
        function of the example and the paper alone.
        """
        mass = self.cocitations.of_pairs(targets[owner], rows)
        free = (mass > 0) & (rows != targets[owner]) & (rows != citing[owner])
        free &= ~(chosen[owner] == rows[:, None]).any(1)
        owner, rows, mass = owner[free], rows[free], mass[free]
        # Exponential waiting times: the least of them are draws without replacement in proportion to the masses.
        time = -np.log1p(-draws.at(owner, rows)) / mass
        order = np.lexsort((time, owner))
        owner, rows = owner[order], rows[order]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        column = (chosen != NO_ROW).sum(1)[owner] + rank
        fits = column < chosen.shape[1]
        chosen[owner[fits], column[fits]] = rows[fits]

    def _search(
        self,
        chosen: NDArray[np.int32],
        which: NDArray[np.int64],
        targets: NDArray[np.int64],
        citing: NDArray[np.int64],
        draws: Draws,
    ) -> None:
        """Fill the free columns of the examples ``which`` by search in the cumulative masses, O(log n) a draw.

        A draw that finds a chosen paper is repeated, at most ``ROUNDS`` times for each column. :meth:`_choose` fills
        the columns that are then still free.
        """
        pairs, ends = self.cocitations.pairs, self.cocitations.ends
        first, last = ends[pairs.indptr[targets]], ends[pairs.indptr[targets + 1]]
        count = chosen.shape[1]
        for turn in range(count * ROUNDS):
            which = which[chosen[which, -1] == NO_ROW]
            if not len(which):
                return
            number = draws.at(which, np.full(len(which), turn))
            wanted = first[which] + number * (last[which] - first[which])
            entry = np.searchsorted(ends, wanted, side="right") - 1
            entry = np.clip(entry, pairs.indptr[targets[which]], pairs.indptr[targets[which] + 1] - 1)
            rows = pairs.indices[entry]
            good = (rows != citing[which]) & ~(chosen[which] == rows[:, None]).any(1)
            at, rows = which[good], rows[good]
            chosen[at, (chosen[at] != NO_ROW).sum(1)] = rows

"""Further positives by co-citation (MP-BERT4CR, section 4.1.3, Eq. 1)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.sampling.draws import POSITIVES, SEARCHED, Draws
from cocite.sampling.noise import POWER, raised

Source = Literal["history", "context", "both"]
SMALL = 256
"""Co-citations of a target that are looked at one by one; of more, some are drawn by search."""
ROUNDS = 16
"""Times that a paper is searched for anew when it is taken already."""


class CocitationSampler:
    """Papers that are cited together with a target, the more often the likelier: p(i) as in Eq. 1.

    They are drawn one after the other without putting back: each by the frequencies ^ power of those that are left.

    From what set, the paper leaves open. Its section 4.1.3 draws from all papers by their historical co-citations with
    the target, "for the query context with multiple ground-truth citations": ``history``, with ``single`` off.
    Section 4.1.5 can also be read as if the positives were those that the context itself cites beside the target:
    ``context``. ``both`` takes these first and fills up from the history.

    Args:
        history: whose contexts are counted.
        power: of the frequencies: 0 draws evenly.
        source: the set that is drawn from.
        single: whether a context that cites the target alone gets positives too (from the history).

    Raises:
        ConfigError: the power is negative.
    """

    def __init__(
        self, history: History, power: float = POWER, *, source: Source = "history", single: bool = False
    ) -> None:
        self.source, self.single = source, single
        self._citing = history.corpus.context_citing
        self._groups = history.corpus.context_cited
        self._pairs, times = history.cocitations
        self._masses = raised(times, power)
        self._ends = np.concatenate([[0.0], np.cumsum(self._masses)])
        owners, entries = self._pairs.pairs()
        self._width = len(history.corpus)
        self._keys = owners.astype(np.int64) * self._width + entries

    def draw(
        self, contexts: NDArray[np.integer], targets: NDArray[np.integer], count: int, draws: Draws
    ) -> NDArray[np.int32]:
        """(b, count) positives of some contexts' targets, distinct: never the target, never the citing paper.

        Args:
            contexts: (b,) positions in the store.
            targets: (b,) one of the papers that each cites.
            count: n; 3 in the paper.
            draws: the numbers of b examples.

        Returns:
            Papers in the order drawn, padded with ``NO_ROW`` where there are no more.
        """
        wanted = np.asarray(targets, np.int64)
        chosen = np.full((len(contexts), count), NO_ROW, np.int32)
        if not count:
            return chosen
        citing = np.asarray(self._citing[contexts], np.int64)
        if self.source != "history":
            owner, rows = self._groups.gather(contexts)
            self._choose(
                chosen, owner, rows, self._mass(wanted[owner], rows), wanted, citing, draws.of(POSITIVES)
            )
        if self.source != "context":
            several = self._groups.indptr[contexts + 1] - self._groups.indptr[contexts] > 1
            asked = np.flatnonzero(several | self.single)
            degrees = self._pairs.indptr[wanted + 1] - self._pairs.indptr[wanted]
            many = asked[degrees[asked] > SMALL]
            self._search(chosen, many, wanted, citing, draws.of(SEARCHED))
            lacking = asked[(chosen[asked, -1] == NO_ROW) & (degrees[asked] > 0)]
            owner, rows = self._pairs.gather(wanted[lacking])
            owner = lacking[owner]
            self._choose(
                chosen, owner, rows, self._mass(wanted[owner], rows), wanted, citing, draws.of(POSITIVES)
            )
        return chosen

    def _mass(self, targets: NDArray[np.int64], rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """(m,) frequency ^ power of each pair; 0 for papers never cited together."""
        if not len(self._keys):
            return np.zeros(len(rows))
        wanted = targets * self._width + rows
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._masses[place], 0.0)

    @staticmethod
    def _choose(
        chosen: NDArray[np.int32],
        owner: NDArray[np.int64],
        rows: NDArray[np.int32],
        mass: NDArray[np.float64],
        targets: NDArray[np.int64],
        citing: NDArray[np.int64],
        draws: Draws,
    ) -> None:
        """Fill the free places of ``chosen`` from given candidates, entry by entry of ``owner`` and ``rows``.

        Each candidate waits a time that is exponential with its mass as the rate; who comes first is chosen. That is
        drawing without putting back (Efraimidis and Spirakis 2006). A time hangs on the example and the paper alone.
        """
        free = (mass > 0) & (rows != targets[owner]) & (rows != citing[owner])
        free &= ~(chosen[owner] == rows[:, None]).any(1)
        owner, rows, mass = owner[free], rows[free], mass[free]
        time = -np.log1p(-draws.at(owner, rows)) / mass
        order = np.lexsort((time, owner))
        owner, rows = owner[order], rows[order]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        place = (chosen != NO_ROW).sum(1)[owner] + rank
        fits = place < chosen.shape[1]
        chosen[owner[fits], place[fits]] = rows[fits]

    def _search(
        self,
        chosen: NDArray[np.int32],
        which: NDArray[np.int64],
        targets: NDArray[np.int64],
        citing: NDArray[np.int64],
        draws: Draws,
    ) -> None:
        """Fill the free places of some examples by search in the cumulative masses, O(log n) a draw.

        A paper that is taken is drawn anew, some rounds long: what is then still free, :meth:`_choose` fills.
        """
        first, last = self._ends[self._pairs.indptr[targets]], self._ends[self._pairs.indptr[targets + 1]]
        count = chosen.shape[1]
        for turn in range(count * ROUNDS):
            which = which[chosen[which, -1] == NO_ROW]
            if not len(which):
                return
            number = draws.at(which, np.full(len(which), turn))
            wanted = first[which] + number * (last[which] - first[which])
            place = np.searchsorted(self._ends, wanted, side="right") - 1
            place = np.clip(
                place, self._pairs.indptr[targets[which]], self._pairs.indptr[targets[which] + 1] - 1
            )
            rows = self._pairs.indices[place]
            good = (rows != citing[which]) & ~(chosen[which] == rows[:, None]).any(1)
            at, rows = which[good], rows[good]
            chosen[at, (chosen[at] != NO_ROW).sum(1)] = rows

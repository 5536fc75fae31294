"""Negatives by how often papers are cited (MP-BERT4CR, section 4.1.4, Eq. 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.errors import ConfigError, InputError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import NEGATIVES, Draws

POWER = 0.75
"""Of the counts in Eq. 1 and 2, as in word2vec's noise distribution (Mikolov et al., 2013)."""
ROUNDS = 32
"""Times that a forbidden paper is drawn anew, before what is allowed is looked at paper by paper."""


def raised(counts: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Counts to a power; what never occurred has 0 at any power, so that power 0 draws evenly from what did.

    Raises:
        ConfigError: the power is negative.
    """
    if power < 0:
        raise ConfigError(f"the power of a noise distribution is {power}", hint="give 0 (even) or more")
    return np.where(counts > 0, np.asarray(counts, np.float64) ** power, 0.0)


class NoiseDistribution:
    """p(i) proportional to count(i) ** power; a draw is a binary search in the cumulative sums, O(log n).

    Args:
        counts: (N,) how often each paper occurs; one that never does is never drawn.
        power: 0 draws evenly, 1 in proportion.

    Raises:
        ConfigError: the power is negative.
        InputError: no paper occurs.
    """

    def __init__(self, counts: NDArray[Any], power: float = POWER) -> None:
        masses = raised(counts, power)
        self.rows = np.flatnonzero(masses).astype(np.int32)
        """(n,) the papers that can be drawn, ascending."""
        if not len(self.rows):
            raise InputError("no paper is cited, so there is nothing to draw negatives from")
        self.masses = masses[self.rows] / masses.sum()
        """(n,) probability of each of them."""
        self._ends = np.cumsum(self.masses)
        self._ends[-1] = 1.0

    def draw(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """A paper for each number in [0, 1), in any shape."""
        return np.asarray(self.rows[np.searchsorted(self._ends, numbers, side="right")])


class CitationSampler:
    """Papers that a context does not cite, the more often cited the likelier: p(i) as in Eq. 2.

    Never drawn are the citing paper and what the context cites (so neither the target nor its ground-truth
    co-citations); by default nothing else that the citing paper cites either, for a paper cited elsewhere in a text is
    no mistake here. What is forbidden is drawn anew, so the others keep their proportions.

    Args:
        history: whose citations are counted: in how many known papers each paper is cited.
        power: of the counts.
        spare_cited: whether all that the citing paper is known to cite is forbidden.

    Raises:
        ConfigError: the power is negative.
        InputError: the history knows no citation.
    """

    def __init__(self, history: History, power: float = POWER, *, spare_cited: bool = True) -> None:
        self.noise = NoiseDistribution(history.in_citations, power)
        self.spare_cited = spare_cited
        self._citing = history.corpus.context_citing
        self._groups = history.corpus.context_cited
        self._cites = history.cites

    def forbidden(
        self,
        contexts: NDArray[np.integer],
        rows: NDArray[np.integer],
        positives: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """Whether papers are no negatives of contexts, for two broadcastable arrays; ``NO_ROW`` is none.

        With contexts (b, 1) and rows (m,) it is the table of who may use which of the negatives that all share.

        Args:
            contexts: positions in the store.
            rows: papers.
            positives: further papers that are forbidden to each context, padded with ``NO_ROW``: of the shape of
                ``contexts`` with one axis more.
        """
        citing = self._citing[contexts]
        found = (rows == citing) | (rows == NO_ROW) | self._groups.contains(contexts, rows)
        if self.spare_cited:
            found |= self._cites.contains(citing, rows)
        if positives is not None:
            found |= (np.asarray(rows)[..., None] == positives).any(-1)
        return np.asarray(found)

    def draw(
        self,
        contexts: NDArray[np.integer],
        count: int,
        draws: Draws,
        positives: NDArray[np.integer] | None = None,
    ) -> NDArray[np.int32]:
        """(b, count) negatives of some contexts, each drawn by itself.

        Args:
            contexts: (b,) positions in the store.
            count: m; 4 in the paper.
            draws: the numbers of b examples.
            positives: (b, k) further papers that are none, padded with ``NO_ROW``: what was drawn by co-citation.

        Returns:
            Papers; ``NO_ROW`` where every cited paper is forbidden.
        """
        draws = draws.of(NEGATIVES)
        result = np.full(len(contexts) * count, NO_ROW, np.int32)
        owner, slot = np.divmod(np.arange(len(result)), max(count, 1))
        left = np.arange(len(result))
        for turn in range(ROUNDS):
            drawn = self.noise.draw(draws.at(owner[left], turn * count + slot[left]))
            at = owner[left]
            good = ~self.forbidden(contexts[at], drawn, None if positives is None else positives[at])
            result[left[good]] = drawn[good]
            left = left[~good]
            if not len(left):
                return result.reshape(len(contexts), count)
        # Nearly all that is cited is forbidden to these: choose among what is left of it.
        at = owner[left]
        table = self.forbidden(
            contexts[at][:, None], self.noise.rows, None if positives is None else positives[at][:, None]
        )
        ends = np.cumsum(np.where(table, 0.0, self.noise.masses), axis=1)
        wanted = draws.at(at, ROUNDS * count + slot[left]) * ends[:, -1]
        place = np.minimum((ends <= wanted[:, None]).sum(1), ends.shape[1] - 1)
        free = ~table[np.arange(len(left)), place]
        result[left[free]] = self.noise.rows[place[free]]
        return result.reshape(len(contexts), count)

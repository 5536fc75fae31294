"""Draws negatives by how often papers are cited (MP-BERT4CR, section 4.1.4, Eq. 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.errors import ConfigError, InputError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import NEGATIVES, Draws

POWER = 0.75
"""Power of the counts in Eq. 1 and 2, as in word2vec's noise distribution (Mikolov et al., 2013)."""
ROUNDS = 32
"""Draws for each negative, as a draw may find a forbidden paper; then the allowed papers are enumerated."""


def powers(counts: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Counts to a power; a count of 0 stays 0 at any power, so that power 0 draws evenly from what occurred.

    Raises:
        ConfigError: the power is negative.

    Example:
        >>> powers(np.array([0, 1, 16]), 0.75)
        array([0., 1., 8.])
    """
    if power < 0:
        raise ConfigError(f"the power of a noise distribution is {power}", hint="give 0 (even) or more")
    return np.where(counts > 0, np.asarray(counts, np.float64) ** power, 0.0)


class NoiseDistribution:
    """p(i) proportional to count(i) ** power; a draw is a binary search in the cumulative sums, O(log n).

    Args:
        counts: (N,) how often each paper occurs; one that never occurs is never drawn.
        power: 0 draws evenly, 1 in proportion.

    Raises:
        ConfigError: the power is negative.
        InputError: no paper occurs.

    Example:
        >>> noise = NoiseDistribution(np.array([16, 0, 1]), power=0.75)
        >>> noise.rows, noise.masses.round(3)
        (array([0, 2], dtype=int32), array([0.889, 0.111]))
        >>> noise.draw(np.array([0.1, 0.95]))
        array([0, 2], dtype=int32)
    """

    def __init__(self, counts: NDArray[Any], power: float = POWER) -> None:
        masses = powers(counts, power)
        self.rows = np.flatnonzero(masses).astype(np.int32)
        """(n,) the papers that can be drawn, ascending."""
        if not len(self.rows):
            raise InputError("no paper is cited, so there is nothing to draw negatives from")
        self.masses = masses[self.rows] / masses.sum()
        """(n,) probability of each of them."""
        self._ends = np.cumsum(self.masses)
        # Rounding may leave the last sum below 1, and a number above it would find no paper.
        self._ends[-1] = 1.0

    def draw(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """A paper for each number in [0, 1), in any shape."""
        return np.asarray(self.rows[np.searchsorted(self._ends, numbers, side="right")])


class NegativeSampler:
    """Draws papers that a context does not cite, with the probabilities p(i) of Eq. 2.

    The citing paper and what the context cites are never drawn (so neither the target nor its ground-truth
    co-citations). By default, neither is anything else that the citing paper cites: a paper cited elsewhere in a text
    is no wrong recommendation here. A forbidden paper is replaced by another draw, so the others keep their
    proportions.

    Args:
        history: the known citations; the count of a paper is the number of known papers that cite it.
        power: of the counts.
        exclude_cited: whether all that the citing paper is known to cite is forbidden.

    Raises:
        ConfigError: the power is negative.
        InputError: the history has no citation.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     contexts = np.arange(10)
        ...     negatives = NegativeSampler(History.all(corpus)).draw(contexts, 4, Draws(0, 0, contexts))
        ...     cited = corpus.context_cited.contains(contexts[:, None], negatives)
        >>> negatives.shape, bool(cited.any())
        ((10, 4), False)
    """

    def __init__(self, history: History, power: float = POWER, *, exclude_cited: bool = True) -> None:
        self.noise = NoiseDistribution(history.in_citations, power)
        self.exclude_cited = exclude_cited
        self._citing = history.corpus.context_citing
        self._groups = history.corpus.context_cited
        self._cites = history.cites

    def forbidden(
        self,
        contexts: NDArray[np.integer],
        rows: NDArray[np.integer],
        positives: NDArray[np.integer] | None = None,
    ) -> NDArray[np.bool_]:
        """Whether papers are no negatives of contexts, for two broadcastable arrays; ``NO_ROW`` is forbidden.

        With contexts (b, 1) and rows (m,) the result is the table of which context may use which shared negative.

        Args:
            contexts: positions in the store.
            rows: papers.
            positives: further papers that are forbidden to each context, padded with ``NO_ROW``: of the shape of
                ``contexts`` with one axis more.
        """
        citing = self._citing[contexts]
        forbidden = (rows == citing) | (rows == NO_ROW) | self._groups.contains(contexts, rows)
        if self.exclude_cited:
            forbidden |= self._cites.contains(citing, rows)
        if positives is not None:
            forbidden |= (np.asarray(rows)[..., None] == positives).any(-1)
        return np.asarray(forbidden)

    def draw(
        self,
        contexts: NDArray[np.integer],
        count: int,
        draws: Draws,
        positives: NDArray[np.integer] | None = None,
    ) -> NDArray[np.int32]:
        """(b, count) negatives of contexts, drawn independently.

        Args:
            contexts: (b,) positions in the store.
            count: m; 4 in the paper.
            draws: the random numbers of b examples.
            positives: (b, k) further papers that are no negatives, padded with ``NO_ROW``: drawn by co-citation.

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
        # Nearly all cited papers are forbidden to these contexts: choose among the allowed ones.
        at = owner[left]
        table = self.forbidden(
            contexts[at][:, None], self.noise.rows, None if positives is None else positives[at][:, None]
        )
        ends = np.cumsum(np.where(table, 0.0, self.noise.masses), axis=1)
        # Numbers behind those that the rounds have used.
        wanted = draws.at(at, ROUNDS * count + slot[left]) * ends[:, -1]
        column = np.minimum((ends <= wanted[:, None]).sum(1), ends.shape[1] - 1)
        free = ~table[np.arange(len(left)), column]
        result[left[free]] = self.noise.rows[column[free]]
        return result.reshape(len(contexts), count)

"""Draws negatives by how often papers are cited (MP-BERT4CR, section 4.1.4, Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.context_links import ContextLinks
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import ConfigError, InputError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import NEGATIVES, Draws

Count = Literal["papers", "occurrences"]
"""What the count of a paper is: how many papers cite it, or how often it is cited in contexts."""
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


def paper_counts(history: History, count: Count) -> NDArray[np.int32]:
    """(N,) the counts of Eq. 2.

    Args:
        history: the known citations.
        count: ``occurrences`` is the paper's count; with ``papers``, a paper that is cited ten times by one other
            counts once.
    """
    return history.occurrences if count == "occurrences" else history.in_citations


@dataclass(frozen=True)
class NoiseDistribution:
    """p(i) proportional to count(i) ** power; a draw is a binary search in the cumulative sums, O(log n).

    Attributes:
        rows: (n,) int32 the papers that can be drawn, ascending.
        masses: (n,) float64 probability of each of them.
        ends: (n,) float64 their cumulative sums; the last is 1.

    Example:
        >>> noise = NoiseDistribution.of(np.array([16, 0, 1]), power=0.75)
        >>> noise.rows, noise.masses.round(3)
        (array([0, 2], dtype=int32), array([0.889, 0.111]))
        >>> noise.draw(np.array([0.1, 0.95]))
        array([0, 2], dtype=int32)
    """

    rows: NDArray[np.int32]
    masses: NDArray[np.float64]
    ends: NDArray[np.float64]

    @classmethod
    def of(cls, counts: NDArray[Any], power: float = POWER) -> NoiseDistribution:
        """The distribution of some counts.

        Args:
            counts: (N,) how often each paper occurs; one that never occurs is never drawn.
            power: 0 draws evenly, 1 in proportion.

        Raises:
            ConfigError: the power is negative.
            InputError: no paper occurs.
        """
        masses = powers(counts, power)
        rows = np.flatnonzero(masses).astype(np.int32)
        if not len(rows):
            raise InputError("no paper is cited, so there is nothing to draw negatives from")
        masses = masses[rows] / masses.sum()
        ends = np.cumsum(masses)
        # Rounding may leave the last sum below 1, and a number above it would find no paper.
        ends[-1] = 1.0
        return cls(rows, masses, ends)

    def draw(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """A paper for each number in [0, 1), in any shape."""
        return np.asarray(self.rows[np.searchsorted(self.ends, numbers, side="right")])


class NegativeSampler:
    """Draws papers that a context does not cite, with the probabilities p(i) of Eq. 2.

    The citing paper and what the context cites are never drawn (so neither the target nor its ground-truth
    co-citations). By default, neither is anything else that the citing paper cites: a paper cited elsewhere in a text
    is no wrong recommendation here. A forbidden paper is replaced by another draw, so the others keep their
    proportions.

    Args:
        contexts: of the corpus, at least those that are drawn for.
        noise: the probabilities.
        cites: the papers that each paper is known to cite, which are forbidden to its contexts; None: they are not.
            Eq. 2 is over all papers "except the positive citations".

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     contexts = np.arange(10)
        ...     negatives = NegativeSampler.of(History.all(corpus)).draw(contexts, 4, Draws(0, 0, contexts))
        ...     cited = corpus.context_cited.contains(contexts[:, None], negatives)
        >>> negatives.shape, bool(cited.any())
        ((10, 4), False)
    """

    def __init__(self, contexts: ContextLinks, noise: NoiseDistribution, cites: CSR | None) -> None:
        self.contexts, self.noise, self.cites = contexts, noise, cites

    @classmethod
    def of(
        cls, history: History, power: float = POWER, *, count: Count = "papers", exclude_cited: bool = True
    ) -> NegativeSampler:
        """The sampler of a history.

        Args:
            history: the known citations.
            power: of the counts.
            count: see :func:`paper_counts`.
            exclude_cited: whether all that the citing paper is known to cite is forbidden.

        Raises:
            ConfigError: the power is negative.
            InputError: the history has no citation, or with ``occurrences`` no context that cites.
        """
        noise = NoiseDistribution.of(paper_counts(history, count), power)
        return cls(ContextLinks.of(history.corpus), noise, history.cites if exclude_cited else None)

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
        citing = self.contexts.citing[contexts]
        forbidden = (rows == citing) | (rows == NO_ROW) | self.contexts.cited.contains(contexts, rows)
        if self.cites is not None:
            forbidden |= self.cites.contains(citing, rows)
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

"""The training examples of a reranker: groups of a query's candidates, cited ones among others."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.bounds import PositiveSmallCount, Share, SmallCount
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW
from cocite.systems.cross_encoder.random_candidates import RandomCandidates

BLOCK = 1 << 22
"""Random keys drawn at a time (one for each candidate; 16 MB)."""
RANDOM = 1
"""The stream of random numbers that papers from the whole corpus are drawn by: the other draws stay as they are."""


class GroupSettings(Settings):
    """Which of a query's candidates make its group in an epoch.

    Example:
        >>> GroupSettings(negatives=62).width, GroupSettings(candidates="top", top=10, random=5).width
        (63, 15)
    """

    candidates: Literal["sampled", "top"] = "sampled"
    """``sampled``: one cited paper and some that are not cited (HAtten, Section 5). ``top``: the best of the retriever,
    cited or not (Nogueira et al., Section 4.2)."""
    balanced: bool = False
    """Whether a group has as many candidates that are not cited as cited ones, at most ``top`` of both together, both
    drawn evenly (``top``). With ``missed`` the cited ones are all that the query cites, as where Nogueira et al. add
    the cited papers that BM25 did not find (Section 5.2); without it, those among the ``top``."""
    top: int = Field(10, ge=2, le=2000)
    """Candidates of a group (``top``)."""
    negatives: PositiveSmallCount = 62
    """Candidates that the query does not cite (``sampled``)."""
    near: PositiveSmallCount = 20
    """Candidates at the head of the ranking that count as near."""
    near_share: Share = 0.0
    """Share of the negatives drawn from the near ones, the others from behind them. 0: all are drawn evenly."""
    missed: bool = True
    """Whether a cited paper that the retriever did not find may be a cited one of a group (``sampled``, and
    ``balanced``)."""
    random: SmallCount = 0
    """Papers that are drawn evenly from the whole corpus and added to a group, as candidates that the query does not
    cite (Nogueira et al., Section 5.2). None is later than the query where ``candidates.earlier_only`` says so. The
    tokens of all papers are kept then."""

    @model_validator(mode="after")
    def _possible(self) -> GroupSettings:
        if round(self.negatives * self.near_share) > self.near:
            raise ValueError("near holds fewer candidates than near_share of the negatives")
        if self.balanced and self.candidates != "top":
            raise ValueError("balanced is a setting of candidates: top")
        if self.balanced and self.random:
            raise ValueError(
                "random adds candidates that are not cited, and balanced has no more of them than cited"
            )
        return self

    @property
    def width(self) -> int:
        """k, the greatest number of candidates of a group."""
        if self.balanced:
            return 2 * (self.top // 2)
        return (self.top if self.candidates == "top" else self.negatives + 1) + self.random


class CandidateGroups:
    """The groups of each epoch; a group is a function of seed, epoch and the query's number.

    Args:
        rows: (Q, d) candidates of each query, best first, padded with ``NO_ROW``.
        cited: what each query cites, found or not.
        settings: which candidates make a group.
        seed: of all draws.
        unanswered: whether a group without a cited paper is trained on: only where the loss judges each candidate by
            itself (``top``).
        outside: draws from the whole corpus, where the settings ask for ``random`` papers.

    Attributes:
        queries: (n,) numbers of the queries that have a group.

    Example:
        >>> rows = np.array([[5, 7, 9]], np.int32)
        >>> cited = CSR(np.array([0, 1]), np.array([7], np.int32))
        >>> groups = CandidateGroups(rows, cited, GroupSettings(negatives=2), seed=0)
        >>> candidates, relevant = groups.epoch(0)
        >>> candidates.tolist(), relevant.tolist()
        ([[7, 5, 9]], [[True, False, False]])
    """

    def __init__(
        self,
        rows: NDArray[np.int32],
        cited: CSR,
        settings: GroupSettings,
        *,
        seed: int,
        unanswered: bool = False,
        outside: RandomCandidates | None = None,
    ) -> None:
        if settings.random and outside is None:
            raise ValueError("random papers need a corpus that they are drawn from")
        self.outside = outside
        self.rows, self.cited, self.settings, self.seed = rows, cited, settings, seed
        self.relevant = cited.contains(np.arange(len(rows))[:, None], rows)
        if settings.balanced:
            head = rows[:, : settings.top]
            others = ((head != NO_ROW) & ~self.relevant[:, : settings.top]).any(axis=1)
            found = self.relevant[:, : settings.top].any(axis=1)
            usable = others & ((cited.degrees > 0) if settings.missed else found)
        elif settings.candidates == "top":
            usable = self.relevant[:, : settings.top].any(axis=1) | (unanswered & (rows[:, 0] != NO_ROW))
        else:
            others = ((rows != NO_ROW) & ~self.relevant).any(axis=1)
            known = cited.degrees > 0 if settings.missed else self.relevant.any(axis=1)
            usable = known & others
        self.queries: NDArray[np.int64] = np.flatnonzero(usable)

    def __len__(self) -> int:
        return len(self.queries)

    def epoch(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(n, k) candidates of each group, padded with ``NO_ROW``, and (n, k) which of them the query cites."""
        rows, relevant = self._found(number)
        if not self.settings.random or self.outside is None:
            return rows, relevant
        rng = np.random.default_rng([self.seed, number, RANDOM])
        drawn = self.outside.draw(self.queries, rows, self.settings.random, rng)
        return np.concatenate([rows, drawn], axis=1), np.pad(relevant, ((0, 0), (0, drawn.shape[1])))

    def _found(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The groups without what is drawn from the whole corpus."""
        if self.settings.balanced:
            return self._balanced(np.random.default_rng([self.seed, number]))
        if self.settings.candidates == "top":
            width = self.settings.top
            return self.rows[self.queries, :width], self.relevant[self.queries, :width]
        rng = np.random.default_rng([self.seed, number])
        positives = self._positives(rng)
        step = max(1, BLOCK // self.rows.shape[1])
        negatives = [
            self._negatives(self.queries[start : start + step], rng)
            for start in range(0, len(self.queries), step)
        ]
        rows = np.concatenate(
            [positives[:, None], *([np.concatenate(negatives)] if negatives else [])], axis=1
        )
        relevant = np.zeros(rows.shape, bool)
        relevant[:, 0] = True
        return rows, relevant

    def _balanced(self, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Groups of as many cited papers as others, the cited ones first, then padding."""
        half, top = self.settings.width // 2, self.settings.top
        head, relevant = self.rows[self.queries, :top], self.relevant[self.queries, :top]
        others = _drawn(head, (head != NO_ROW) & ~relevant, half, rng)
        if self.settings.missed:
            owner, cited = self.cited.gather(self.queries)
            positives = _drawn_of_each(owner, cited, len(self.queries), half, rng)
        else:
            positives = _drawn(head, relevant, half, rng)
        # Both are filled from the left, so that a column holds a cited paper and another one, or neither.
        paired = (positives != NO_ROW) & (others != NO_ROW)
        rows = np.where(np.tile(paired, 2), np.concatenate([positives, others], axis=1), NO_ROW)
        return rows, np.concatenate([paired, np.zeros_like(paired)], axis=1)

    def _positives(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """(n,) a cited paper of each query."""
        draw = rng.random(len(self.queries))
        if self.settings.missed:
            count = self.cited.degrees[self.queries]
            position = self.cited.indptr[self.queries] + (draw * count).astype(np.int64)
            return np.asarray(self.cited.indices[position], np.int32)
        retrieved = self.relevant[self.queries]
        # The j-th relevant column of each query, with j drawn.
        nth = (draw * retrieved.sum(axis=1)).astype(np.int64)
        column = (retrieved.cumsum(axis=1) > nth[:, None]).argmax(axis=1)
        return np.asarray(self.rows[self.queries, column], np.int32)

    def _negatives(self, queries: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """(q, negatives) distinct candidates that are not cited; padded where there are too few."""
        rows, count = self.rows[queries], self.settings.negatives
        keys = rng.random(rows.shape, np.float32)
        keys[(rows == NO_ROW) | self.relevant[queries]] = np.inf
        if share := round(count * self.settings.near_share):
            # The least keys are picked: first ``share`` near ones, then those behind them, then the other near ones.
            near = keys[:, : self.settings.near]
            order = near.argsort(axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(near.shape[1])[None], axis=1)
            near += np.where(rank < share, -1, 1)
        width = min(count, rows.shape[1])
        columns = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
        if width < rows.shape[1]:
            # In the order of the ranking, so that a group does not depend on how argpartition orders its keys.
            columns = np.sort(keys.argpartition(width - 1, axis=1)[:, :width], axis=1)
        picked = np.take_along_axis(rows, columns, axis=1)
        picked = np.where(np.isinf(np.take_along_axis(keys, columns, axis=1)), NO_ROW, picked)
        result = np.full((len(queries), count), NO_ROW, np.int32)
        result[:, :width] = picked
        return result


def _drawn(
    rows: NDArray[np.int32], among: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """(q, count) of the rows (q, k) that are true in ``among``, drawn evenly without putting back, then padding."""
    owner, column = np.nonzero(among)
    return _drawn_of_each(owner, rows[owner, column], len(rows), count, rng)


def _drawn_of_each(
    owner: NDArray[np.integer], rows: NDArray[np.int32], queries: int, count: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """(q, count) of the rows that each query owns, drawn evenly without putting back, then padding.

    Args:
        owner: (n,) the query of each row, ascending.
        rows: (n,) papers.
        queries: q, their number.
        count: drawn for a query, or all that it owns where these are fewer.
        rng: of the draw.
    """
    order = np.lexsort((rng.random(len(rows)), owner))
    place = np.arange(len(rows)) - np.searchsorted(owner, owner)  # in its query's shuffled rows
    first = place < count
    result = np.full((queries, count), NO_ROW, np.int32)
    result[owner[first], place[first]] = rows[order][first]
    return result

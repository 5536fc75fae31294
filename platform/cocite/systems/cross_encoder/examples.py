"""Groups to train a reranker on: a query's relevant paper among candidates that it does not cite."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.bounds import PositiveSmallCount, Share
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW

BLOCK = 1 << 22
"""Cells of the table of random keys that are drawn at a time (32 MB)."""


class GroupSettings(Settings):
    """Which of a query's candidates it is trained on in an epoch."""

    candidates: Literal["sampled", "top"] = "sampled"
    """``sampled``: one cited paper and some that are not cited (HAtten, Section 5). ``top``: the first ones, cited or
    not, as they come (Nogueira et al., Section 4.2)."""
    top: int = Field(10, ge=2, le=2000)
    """Candidates of a group (``top``)."""
    negatives: PositiveSmallCount = 62
    """Candidates that the query does not cite (``sampled``)."""
    near: PositiveSmallCount = 20
    """So many first candidates are the near ones."""
    near_share: Share = 0.0
    """Share of the negatives drawn among the near ones; the others come from behind them. 0: all are drawn evenly."""
    missed: bool = True
    """Whether a cited paper that the retriever did not find is trained on, too (``sampled``)."""

    @model_validator(mode="after")
    def _possible(self) -> GroupSettings:
        if round(self.negatives * self.near_share) > self.near:
            raise ValueError("near holds fewer candidates than near_share of the negatives")
        return self

    @property
    def width(self) -> int:
        """k, candidates of a group at most."""
        return self.top if self.candidates == "top" else self.negatives + 1


class CandidateGroups:
    """The groups of each epoch; a group is a function of seed, epoch and the query's number.

    Args:
        rows: (Q, d) candidates of each query, best first, padded with ``NO_ROW``.
        cited: what each query cites, found or not.
        settings: which candidates make a group.
        seed: of all draws.
        unanswered: whether a group without a cited paper teaches anything, as it does where each candidate is judged by
            itself (``top``).

    Attributes:
        queries: (n,) numbers of the queries that have a group; the others have nothing to learn from.
    """

    def __init__(
        self,
        rows: NDArray[np.int32],
        cited: CSR,
        settings: GroupSettings,
        *,
        seed: int,
        unanswered: bool = False,
    ) -> None:
        self.rows, self.cited, self.settings, self.seed = rows, cited, settings, seed
        self.relevant = cited.contains(np.arange(len(rows))[:, None], rows)
        if settings.candidates == "top":
            taught = self.relevant[:, : settings.top].any(axis=1) | (unanswered & (rows[:, 0] != NO_ROW))
        else:
            others = ((rows != NO_ROW) & ~self.relevant).any(axis=1)
            known = cited.degrees > 0 if settings.missed else self.relevant.any(axis=1)
            taught = known & others
        self.queries: NDArray[np.int64] = np.flatnonzero(taught)

    def __len__(self) -> int:
        return len(self.queries)

    def epoch(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(n, k) candidates of each group, padded with ``NO_ROW``, and (n, k) which of them the query cites."""
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

    def _positives(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """(n,) a cited paper of each query."""
        draw = rng.random(len(self.queries))
        if self.settings.missed:
            count = self.cited.degrees[self.queries]
            place = self.cited.indptr[self.queries] + (draw * count).astype(np.int64)
            return np.asarray(self.cited.indices[place], np.int32)
        found = self.relevant[self.queries]
        # The j-th relevant column of each query, j drawn.
        nth = (draw * found.sum(axis=1)).astype(np.int64)
        column = (found.cumsum(axis=1) > nth[:, None]).argmax(axis=1)
        return np.asarray(self.rows[self.queries, column], np.int32)

    def _negatives(self, queries: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
        """(q, negatives) candidates that are not cited, no one twice; padded where there are too few."""
        rows, count = self.rows[queries], self.settings.negatives
        keys = rng.random(rows.shape, np.float32)
        keys[(rows == NO_ROW) | self.relevant[queries]] = np.inf
        if share := round(count * self.settings.near_share):
            # So many of the near ones come first, then those behind them, then what is left of the near ones.
            near = keys[:, : self.settings.near]
            order = near.argsort(axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(near.shape[1])[None], axis=1)
            near += np.where(rank < share, -1, 1)
        width = min(count, rows.shape[1])
        chosen = keys.argpartition(width - 1, axis=1)[:, :width] if width < rows.shape[1] else None
        if chosen is None:
            chosen = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
        # The order within a group is that of the ranking, so that a group does not hang on how ties are sorted.
        chosen = np.sort(chosen, axis=1)
        picked = np.take_along_axis(rows, chosen, axis=1)
        picked = np.where(np.isinf(np.take_along_axis(keys, chosen, axis=1)), NO_ROW, picked)
        result = np.full((len(queries), count), NO_ROW, np.int32)
        result[:, :width] = picked
        return result

"""Random rankings with their relevant papers, for the tests of this folder."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from cocite.protocols import NO_ROW, Ranking

PAPERS = 40


def name(row: int) -> str:
    return f"P{row:03d}"


@st.composite
def rankings(draw: st.DrawFn, depth: int = 12) -> tuple[Ranking, list[list[int]]]:
    """A ranking of a few queries with ties, padding and unranked relevant papers; some queries judge nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    queries, k = draw(st.integers(1, 6)), draw(st.integers(1, depth))
    rows = np.stack([rng.permutation(PAPERS)[:k] for _ in range(queries)]).astype(np.int32)
    scores = -np.sort(-rng.integers(-3, 4, (queries, k)).astype(np.float32), axis=1)
    filled = np.arange(k) < rng.integers(0, k + 1, queries)[:, None]
    relevant = [sorted(rng.permutation(PAPERS)[: rng.integers(0, 6)].tolist()) for _ in range(queries)]
    return Ranking(
        np.where(filled, rows, NO_ROW), np.where(filled, scores, -np.inf).astype(np.float32)
    ), relevant

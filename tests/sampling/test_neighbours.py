"""Exhaustive search, and candidates that neighbours cite."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.sampling.neighbours import nearest, similarities, with_citations


def vectors(count: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def test_nearest_is_exhaustive_search() -> None:
    space = vectors(60)
    own = np.arange(10, dtype=np.int32)
    years = np.arange(60, dtype=np.int16)
    pool = np.arange(0, 60, 2, dtype=np.int32)
    latest = np.full(10, 40, np.int16)
    found = nearest(space[:10], space, 7, exclude=own, pool=pool, latest=latest, years=years, block=3)
    for query in range(10):
        allowed = [p for p in pool if p != query and years[p] <= 40]
        best = sorted(allowed, key=lambda p: -float(space[p] @ space[query]))[:7]
        assert found.rows[query].tolist() == best
        assert found.scores[query] == pytest.approx(space[best] @ space[query], abs=1e-6)
    few = nearest(space[:1], space, 9, latest=np.zeros(1, np.int16), years=years)
    assert few.rows[0].tolist() == [0] + [NO_ROW] * 8


def test_expansion_adds_what_the_neighbours_cite(history: History) -> None:
    space = vectors(len(history.corpus))
    queries = np.arange(20, dtype=np.int32)
    near = nearest(space[queries], space, 4, exclude=queries)
    found = with_citations(near, history.cites, space[queries], space, exclude=queries)
    for query in range(20):
        expected = set(near.rows[query].tolist())
        expected |= {int(c) for n in near.rows[query] for c in history.cites[n]} - {query}
        rows = found.rows[query][found.rows[query] != NO_ROW]
        assert sorted(rows.tolist()) == sorted(expected)
        assert found.scores[query][: len(rows)] == pytest.approx(
            np.sort(space[rows] @ space[query])[::-1], abs=1e-5
        )
    assert with_citations(near, history.cites, space[queries], space, exclude=queries, limit=3).depth == 3
    padded = np.array([[0, NO_ROW]], np.int32)
    assert np.isneginf(similarities(space[:1], space, padded)[0, 1])


def test_fp16_finds_and_fp32_decides() -> None:
    space = vectors(400)
    own = np.arange(50, dtype=np.int32)
    pool = np.arange(0, 400, 3, dtype=np.int32)
    years = np.arange(400, dtype=np.int16)
    limits = {"exclude": own, "latest": np.full(50, 300, np.int16), "years": years}
    exact = nearest(space[:50], space, 6, pool=pool, **limits)
    device = torch.device("cpu")
    half = nearest(space[:50], torch.from_numpy(space), 6, pool=pool, device=device, half=True, **limits)
    assert np.array_equal(half.rows, exact.rows)
    assert half.scores == pytest.approx(exact.scores, abs=1e-6)
    few = nearest(space[:1], space, 9, exclude=own[:1], latest=np.ones(1, np.int16), years=years, half=True)
    assert few.rows[0].tolist() == [1] + [NO_ROW] * 8

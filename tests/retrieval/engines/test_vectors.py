"""Vector indexes: exact where exactness is promised, near enough elsewhere, the same again from disk."""

from __future__ import annotations

import uuid
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.retrieval.engines.vectors import (
    KINDS,
    VectorIndex,
    choose_kind,
    load_trained,
    save_trained,
    train,
    training_size,
)


def unit(count: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def clustered(count: int, dimension: int, clusters: int = 100, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = unit(clusters, dimension, seed=1)
    vectors = centres[rng.integers(clusters, size=count)] + 0.6 * unit(count, dimension, seed=seed + 2)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 80), st.integers(0, 9), st.booleans())
def test_flat_equals_brute_force(count: int, dimension: int, k: int, seed: int, masked: bool) -> None:
    vectors, queries = unit(count, dimension, seed), unit(7, dimension, seed + 100)
    allowed = np.random.default_rng(seed).random(count) < 0.5 if masked else None
    ranking = VectorIndex.build(vectors, "flat").search(queries, k, allowed)
    scores = queries @ vectors.T
    if allowed is not None:
        scores[:, ~allowed] = -np.inf
    expected = -np.sort(-scores, axis=1)[:, : min(k, count if allowed is None else int(allowed.sum()))]
    assert ranking.rows.shape == expected.shape
    np.testing.assert_allclose(ranking.scores, expected, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(scores, ranking.rows, 1), ranking.scores, atol=1e-5)
    assert all(len(set(row)) == len(row) for row in ranking.rows.tolist())


@pytest.fixture(scope="module")
def many() -> NDArray[np.float32]:
    return clustered(6000, 24)


@pytest.mark.parametrize("kind", KINDS)
def test_recall_at_default_settings(many: NDArray[np.float32], kind: str) -> None:
    queries = clustered(100, 24, seed=50)
    index = VectorIndex.build(many, kind)
    truth = np.argsort(-(queries @ many.T), axis=1)[:, :100]
    for k in (10, 100):
        ranking = index.search(queries, k)
        recall = np.mean([len(set(a) & set(b)) / k for a, b in zip(ranking.rows, truth[:, :k], strict=True)])
        assert recall >= (1.0 if kind == "flat" else 0.95), (kind, k, recall)
        assert (np.diff(ranking.scores, axis=1) <= 0).all()
        np.testing.assert_allclose(
            ranking.scores, np.einsum("qd,qkd->qk", queries, many[ranking.rows]), atol=1e-5
        )


@pytest.mark.parametrize("kind", KINDS)
def test_only_allowed_vectors_are_found(many: NDArray[np.float32], kind: str) -> None:
    allowed = np.zeros(len(many), bool)
    allowed[::3] = True
    ranking = VectorIndex.build(many, kind).search(many[:20], 50, allowed)
    found = ranking.rows[ranking.rows >= 0]
    assert (found % 3 == 0).all()
    assert len(found) > 0.95 * ranking.rows.size


@pytest.mark.parametrize("kind", KINDS)
def test_grown_saved_and_loaded(many: NDArray[np.float32], kind: str, tmp_path: Path) -> None:
    index = VectorIndex.build(many[:5000], kind)
    grown = index.append(many[5000:])
    assert (len(index), len(grown)) == (5000, 6000)
    found = grown.search(many[5000:5200], 1)
    assert (found.rows[:, 0] == np.arange(5000, 5200)).mean() >= 0.99
    assert index.search(many[:1], 5).rows.max() < 5000, "the smaller one is as it was"
    grown.save(tmp_path / "index")
    loaded = VectorIndex.load(tmp_path / "index")
    assert isinstance(loaded.raw, np.memmap)
    again, before = loaded.search(many[:50], 20), grown.search(many[:50], 20)
    np.testing.assert_array_equal(again.rows, before.rows)
    np.testing.assert_array_equal(again.scores, before.scores)
    more = loaded.append(many[:10])
    assert len(more) == 6010
    assert 6003 in more.search(many[3:4], 2).rows


def test_the_same_vectors_give_the_same_index(many: NDArray[np.float32]) -> None:
    for kind in ("ivf", "ivfpq", "hnsw"):
        one, two = (VectorIndex.build(many[:2000], kind).search(many[:50], 10) for _ in range(2))
        np.testing.assert_array_equal(one.rows, two.rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 5, 50])
def test_few_vectors_do(kind: str, count: int) -> None:
    vectors = unit(count, 7)
    index = VectorIndex.build(vectors, kind)
    ranking = index.search(unit(3, 7, seed=5), 4)
    assert ranking.rows.shape == (3, min(4, count))
    assert (ranking.rows >= 0).all()
    assert len(index.append(unit(2, 7, seed=9))) == count + 2


@pytest.mark.parametrize("kind", KINDS)
def test_parts_that_are_trained_once_find_what_the_whole_finds(
    many: NDArray[np.float32], kind: str, tmp_path: Path
) -> None:
    halves = many[: len(many) // 2], many[len(many) // 2 :]
    size = training_size(kind, len(halves[0]))
    save_trained(train(many[:size], kind, len(halves[0])), tmp_path)
    parts = [VectorIndex.build(half, kind, trained=load_trained(tmp_path)) for half in halves]
    assert [len(part) for part in parts] == [len(half) for half in halves]
    queries = many[:50]
    found = [part.search(queries, 10) for part in parts]
    rows = np.concatenate([found[0].rows, found[1].rows + len(halves[0])], axis=1)
    order = np.argsort(-np.concatenate([one.scores for one in found], axis=1), axis=1, kind="stable")
    best = np.take_along_axis(rows, order, axis=1)[:, :10]
    exact = VectorIndex.build(many, "flat").search(queries, 10).rows
    recall = np.mean([len(set(a) & set(b)) for a, b in zip(best.tolist(), exact.tolist(), strict=True)]) / 10
    assert recall > 0.9
    (tmp_path / "trained.faiss").write_bytes(b"no index")
    with pytest.raises(IntegrityError, match="not a readable vector index"):
        load_trained(tmp_path)


def test_pairs_of_vectors() -> None:
    vectors, queries = unit(20, 6), unit(4, 6, seed=1)
    index = VectorIndex.build(vectors)
    rows = np.array([[0, 5, -1], [1, 1, 19], [-1, -1, -1], [3, 2, 1]])
    expected = np.where(rows < 0, 0, np.einsum("qd,qkd->qk", queries, vectors[rows]))
    np.testing.assert_allclose(index.similarities(queries, rows), expected, atol=1e-6)
    assert not index.vectors([-1]).any()
    assert not VectorIndex.build(np.zeros((0, 6))).vectors([-1]).any()


def test_the_kind_follows_the_size() -> None:
    assert [choose_kind(n) for n in (0, 20_299, 10**6, 10**7)] == ["flat", "flat", "ivf", "ivfpq"]
    assert VectorIndex.build(unit(3, 2)).kind == "flat"


def test_mistakes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hnws.*'hnsw'"):
        VectorIndex.build(unit(3, 2), "hnws")
    with pytest.raises(InputError, match=r"\(3,\)"):
        VectorIndex.build(np.zeros(3))
    with pytest.raises(InputError, match="5 components"):
        VectorIndex.build(unit(3, 5)).search(unit(1, 4), 1)
    with pytest.raises(NotFoundError, match="no such folder"):
        VectorIndex.load(tmp_path / "none")
    folder = tmp_path / uuid.uuid4().hex
    VectorIndex.build(unit(3, 5)).save(folder)
    (folder / "index.faiss").write_bytes(b"nonsense")
    with pytest.raises(IntegrityError, match="vector index"):
        VectorIndex.load(folder)


@pytest.mark.skipif(
    not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus(), reason="needs faiss-gpu and a GPU"
)
@pytest.mark.parametrize("kind", ["flat", "ivf", "ivfpq"])
def test_a_gpu_finds_what_the_cpu_finds(many: NDArray[np.float32], kind: str) -> None:
    index = VectorIndex.build(many, kind)
    assert index._on_gpu is not None
    there = index.search(many[:50], 10)
    here = index.search(many[:50], 10, np.ones(len(many), bool))
    assert np.mean(there.rows == here.rows) > 0.98


def test_an_opened_flat_index_has_aligned_vectors_for_products(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)
    VectorIndex.build(vectors, "flat").save(tmp_path / "v")
    opened = VectorIndex.load(tmp_path / "v")
    assert opened.aligned.flags.aligned
    np.testing.assert_array_equal(opened.aligned, vectors)
    assert VectorIndex.build(vectors, "flat").aligned.flags.aligned

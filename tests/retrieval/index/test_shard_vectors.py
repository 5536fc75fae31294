"""Vectors of shards are searched by lists that were trained once, on a sample of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder

from cocite.corpus.store import Corpus
from cocite.part_files import LocalFiles
from cocite.retrieval.engines.vectors import VectorIndex, faiss
from cocite.retrieval.index.documents import encode
from cocite.retrieval.index.shard_vectors import encode_papers, search_vectors, shard_kind, train_vectors
from cocite.retrieval.index.sharded_plan import ShardedPlan


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_shards_hold_their_vectors_in_the_same_lists(
    corpus: Corpus, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A sample of 40 of the 80, in place of all: what is chosen must not depend on the division.
    monkeypatch.setattr("cocite.retrieval.index.shard_vectors.training_size", lambda *_: 40 * (kind == "ivf"))
    encoder, files = HashEncoder(), LocalFiles(tmp_path)
    plan = ShardedPlan.of(corpus, shards=3, encoders=[encoder], vector_kind=kind)
    inputs = plan.inputs(files)
    assert shard_kind(inputs) == kind
    for number in range(3):
        encode_papers(inputs, "hash", number)
    train_vectors(inputs, "hash")
    centroids, vectors = [], encode(corpus, encoder)
    for number, part in enumerate(plan.ranges):
        search_vectors(inputs, "hash", number)
        folder = files.read(f"searched/hash/{number:04d}") / "index"
        index = VectorIndex.load(folder)
        assert index.kind == kind
        np.testing.assert_array_equal(index.raw, vectors[part.first : part.last])
        if kind == "ivf":
            engine = faiss.read_index(str(folder / "index.faiss"))
            quantizer = faiss.downcast_index(engine.quantizer)
            centroids.append(quantizer.reconstruct_n(0, quantizer.ntotal))
    samples = [np.load(files.read(f"encoded/hash/{n:04d}") / "sample.npy") for n in range(3)]
    sample = np.concatenate(samples)
    assert sample.shape == (40 * (kind == "ivf"), encoder.dimension)
    if kind == "ivf":
        chosen = np.sort(np.random.default_rng(0).choice(80, 40, replace=False))
        np.testing.assert_array_equal(sample, vectors[chosen])
        np.testing.assert_array_equal(centroids[0], centroids[1])
        np.testing.assert_array_equal(centroids[0], centroids[2])

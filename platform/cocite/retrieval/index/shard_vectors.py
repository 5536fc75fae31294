"""The papers' vectors of an index in shards: encoded shard by shard, in lists that are trained once for all shards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.retrieval.engines.vectors import (
    VectorIndex,
    choose_kind,
    load_trained,
    save_trained,
    train,
    training_size,
)
from cocite.retrieval.index.documents import encode
from cocite.retrieval.index.shard_inputs import ShardInputs
from cocite.retrieval.index.shard_words import part_name

ENCODED, TRAINED, SEARCHED = "encoded", "trained", "searched"
"""Beginnings of the names of what the parts write."""


def shard_kind(inputs: ShardInputs) -> str:
    """How the vectors of each shard are searched: what suits the largest."""
    return choose_kind(_largest(inputs)) if inputs.vector_kind == "auto" else inputs.vector_kind


def encode_papers(inputs: ShardInputs, name: str, number: int) -> None:
    """Encode the papers of one shard, and choose those of its vectors that lists are trained on."""
    part = inputs.ranges[number]
    with inputs.files.write(part_name(ENCODED, name, number)) as folder:
        encoder = inputs.load_encoder(name)
        vectors = encode(inputs.corpus(), encoder, start=part.first, stop=part.last, advance=inputs.advance)
        np.save(folder / "vectors.npy", vectors)
        chosen = _sampled(inputs)
        np.save(
            folder / "sample.npy", vectors[chosen[(chosen >= part.first) & (chosen < part.last)] - part.first]
        )


def train_vectors(inputs: ShardInputs, name: str) -> None:
    """Train what the vectors of all shards are searched by, on a sample of them."""
    samples = [
        load_array(inputs.files.read(part_name(ENCODED, name, number)) / "sample.npy", mapped=False)
        for number in range(len(inputs.ranges))
    ]
    engine = train(np.concatenate(samples), shard_kind(inputs), _largest(inputs), threads=inputs.threads)
    with inputs.files.write(f"{TRAINED}/{name}") as folder:
        save_trained(engine, folder)


def search_vectors(inputs: ShardInputs, name: str, number: int) -> None:
    """Add the vectors of one shard to what was trained."""
    encoded = inputs.files.read(part_name(ENCODED, name, number))
    engine = load_trained(inputs.files.read(f"{TRAINED}/{name}"))
    vectors = load_array(encoded / "vectors.npy")
    index = VectorIndex.build(vectors, shard_kind(inputs), threads=inputs.threads, trained=engine)
    with inputs.files.write(part_name(SEARCHED, name, number)) as folder:
        index.save(folder / "index")


def _largest(inputs: ShardInputs) -> int:
    return max(part.papers for part in inputs.ranges)


def _sampled(inputs: ShardInputs) -> NDArray[np.int64]:
    """(k,) the papers whose vectors are trained on; ascending."""
    papers = inputs.ranges[-1].last
    size = training_size(shard_kind(inputs), _largest(inputs))
    if papers <= size:
        return np.arange(papers)
    return np.sort(np.random.default_rng(0).choice(papers, size, replace=False))

"""Vectors of earlier versions that serve a new one."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.index.reusable_vectors import EarlierVectors, reusable_vectors
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot, verify_index
from cocite.retrieval.index.versions import VersionedFolder


def test_a_new_version_takes_over_the_vectors_it_can(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    first = IndexSnapshot.create(corpus, root, encoders=[encoder])
    other = HashEncoder("other-1", 8, name="other")
    encoder.encoded = 0
    second = IndexSnapshot.create(corpus, root, known_until=2005, encoders=[encoder, other])
    assert (encoder.encoded, other.encoded) == (0, 80)
    file = Path("vectors") / "hash" / "index.faiss"
    assert (first.path / file).samefile(second.path / file)
    hnsw = IndexSnapshot.create(corpus, root, encoders=[encoder], vector_kind="hnsw")
    assert encoder.encoded == 0, "another kind of index is built of the vectors that are there"
    rows = np.arange(len(corpus))
    assert np.array_equal(hnsw.paper_vectors("hash")[rows], second.paper_vectors("hash")[rows])
    for path in VersionedFolder(root).folder("000001").parent.glob("*/vectors/hash/*.*[ys]"):
        data = path.read_bytes()
        path.write_bytes(data[:-4] + b"\0\0\0\1")
    IndexSnapshot.create(corpus, root, encoders=[encoder])
    assert encoder.encoded == 80, "damaged vectors are not taken over"
    assert verify_index(root).meta["vectors"] == {"hash": "flat"}


def test_an_index_in_shards_takes_over_vectors_however_they_are_divided(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    whole = IndexSnapshot.create(corpus, root, encoders=[encoder])
    expected = whole.paper_vectors("hash")[np.arange(len(corpus))]
    encoder.encoded = 0
    made: list[ShardedIndex | IndexSnapshot] = [
        ShardedIndex.create(corpus, root, shards=shards, encoders=[encoder], keep=9) for shards in (3, 3, 5)
    ]
    rmtree(whole.path)
    made.append(IndexSnapshot.create(corpus, root, encoders=[encoder], keep=9))
    assert encoder.encoded == 0
    for index in made:
        assert np.array_equal(index.paper_vectors("hash")[np.arange(len(corpus))], expected)
    for path in root.glob("versions/*/**/vectors/hash/index.faiss"):
        path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\1")
    ShardedIndex.create(corpus, root, shards=3, encoders=[encoder])
    assert encoder.encoded == len(corpus), "damaged vectors are not taken over"
    ShardedIndex.create(corpus, root, shards=3, encoders=[HashEncoder("hash-2")])
    assert verify_index(root).meta["encoder_ids"] == {"hash": "hash-2"}


def test_earlier_vectors_encode_no_query(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="encode no query"):
        EarlierVectors("hash", "1", [np.zeros((80, 2), np.float32)]).encode_queries([])


def test_only_vectors_of_this_corpus_encoder_and_kind_are_reusable(
    corpus: Corpus, root: Path, encoder: HashEncoder, tmp_path: Path
) -> None:
    first = IndexSnapshot.create(corpus, root, encoders=[encoder])
    assert reusable_vectors(root, corpus, encoder, "auto") == first.path / "vectors" / "hash"
    assert reusable_vectors(root, corpus, encoder, "flat") is not None
    second = IndexSnapshot.create(corpus, root, encoders=[encoder])
    assert reusable_vectors(root, corpus, encoder, "auto") == second.path / "vectors" / "hash", "the latest"
    other = build(make_records(20), tmp_path / "other")
    assert reusable_vectors(root, other, encoder, "auto") is None
    assert reusable_vectors(root, corpus, HashEncoder("hash-2"), "auto") is None
    assert reusable_vectors(root, corpus, encoder, "ivf") is None
    assert reusable_vectors(tmp_path / "nothing", corpus, encoder, "auto") is None

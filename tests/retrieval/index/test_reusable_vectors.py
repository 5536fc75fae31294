"""Vectors of earlier versions that serve a new one."""

from __future__ import annotations

from pathlib import Path

from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.retrieval.index.reusable_vectors import reusable_vectors
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
    IndexSnapshot.create(corpus, root, encoders=[encoder], vector_kind="hnsw")
    assert encoder.encoded == 80, "another kind of index is built anew"
    for version in VersionedFolder(root).names():
        path = VersionedFolder(root).folder(version) / file
        data = path.read_bytes()
        path.write_bytes(data[:-4] + b"\0\0\0\1")
    IndexSnapshot.create(corpus, root, encoders=[encoder])
    assert encoder.encoded == 160, "damaged vectors are not taken over"
    assert verify_index(root).meta["vectors"] == {"hash": "flat"}


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

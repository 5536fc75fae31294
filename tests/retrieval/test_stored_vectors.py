"""Stored vectors are read by rows, in place of an encoder, and of one corpus and encoder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.artifacts import publish
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.protocols import BodyReader, Encoder, Query
from cocite.retrieval.index.documents import encode
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.stored_vectors import (
    KIND,
    StoredVectors,
    block_name,
    open_stored_vectors,
    with_stored_vectors,
)

BLOCK = 100
CORPUS = starter_corpus()
VECTORS = np.random.default_rng(0).normal(size=(len(CORPUS), 4)).astype(np.float32)


class Model:
    """An encoder of the same vectors."""

    name, id, dimension = "nnselect", "34cd", 4

    def __init__(self, id_: str = "34cd") -> None:
        self.id = id_

    def encode_papers(self, corpus: Any, rows: Any) -> Any:
        return VECTORS[rows]

    def encode_queries(self, queries: Any) -> Any:
        return VECTORS[: len(queries)]


def stored(folder: Path, vectors: Any = VECTORS, **meta: Any) -> Path:
    facts = {"corpus": CORPUS.version, "encoder": "nnselect", "encoder_id": "34cd", "dimension": 4,
             "rows": len(VECTORS), "block": BLOCK, "dtype": "float32", "bodies": False}  # fmt: skip
    with publish(folder, kind=KIND, meta=facts | meta) as files:
        for number, start in enumerate(range(0, len(vectors), BLOCK)):
            np.save(files / block_name(number), vectors[start : start + BLOCK])
    return folder


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rows_are_read_from_their_blocks_in_their_order(tmp_path: Path, dtype: Any) -> None:
    vectors = StoredVectors.open(stored(tmp_path / "v", VECTORS.astype(dtype)))
    rows = np.random.default_rng(1).permutation(len(CORPUS))
    found = vectors[rows]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, VECTORS.astype(dtype).astype(np.float32)[rows])
    assert len(vectors) == len(CORPUS)
    assert vectors[np.zeros(0, int)].shape == (0, 4)


def test_they_take_an_encoders_place_in_an_index(tmp_path: Path) -> None:
    vectors = StoredVectors.open(stored(tmp_path / "v"))
    assert isinstance(vectors, Encoder)
    np.testing.assert_array_equal(encode(CORPUS, vectors), VECTORS)
    taken = IndexSnapshot.create(CORPUS, tmp_path / "a", encoders=[vectors])
    made = IndexSnapshot.create(CORPUS, tmp_path / "b", encoders=[Model()])
    assert taken.encoder_ids == {"nnselect": "34cd"}
    same = {name: entry for name, entry in made.manifest.files.items() if name.startswith("vectors/")}
    assert same
    assert {name: taken.manifest.files[name] for name in same} == same
    with pytest.raises(InputError, match="holds vectors of papers, and encodes no query"):
        vectors.encode_queries([Query("q", title="graphs")])


def test_shards_take_their_rows(tmp_path: Path) -> None:
    vectors = StoredVectors.open(stored(tmp_path / "v"))
    taken, made = (
        ShardedIndex.create(CORPUS, tmp_path / name, shards=3, encoders=[encoder])
        for name, encoder in (("a", vectors), ("b", Model()))
    )
    assert taken.manifest.meta["shards"] == made.manifest.meta["shards"]  # with the digests of all files


def test_another_corpus_or_encoder_is_refused(tmp_path: Path) -> None:
    vectors = open_stored_vectors(stored(tmp_path / "v"))
    assert with_stored_vectors([Model()], vectors, CORPUS) == vectors
    with pytest.raises(
        InputError, match="vectors of another nnselect \\(34cd\\) than the model's \\(56ef\\)"
    ):
        with_stored_vectors([Model("56ef")], vectors, CORPUS)
    other = open_stored_vectors(stored(tmp_path / "w", corpus="12ab"))
    with pytest.raises(InputError, match="of the papers of corpus 12ab, not of"):
        with_stored_vectors([], other, CORPUS)
    with pytest.raises(InputError, match="of the papers of corpus 12ab, not of"):
        encode(CORPUS, other[0])


def test_a_folder_holds_one_or_several(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such folder"):
        open_stored_vectors(tmp_path / "nothing")
    with pytest.raises(NotFoundError, match="holds no vectors"):
        open_stored_vectors(tmp_path)
    stored(tmp_path / "nnselect")
    stored(tmp_path / "mp-bert4cr", encoder="mp-bert4cr", bodies=True)
    first, second = open_stored_vectors(tmp_path)
    assert (first.name, second.name) == ("mp-bert4cr", "nnselect")
    assert isinstance(first, BodyReader)
    assert not isinstance(second, BodyReader)


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="1 of 5 blocks are missing"):
        StoredVectors.open(stored(tmp_path / "short", VECTORS[:400]))
    with pytest.raises(IntegrityError, match="does not describe vectors: 'rows'"):
        folder = tmp_path / "odd"
        with publish(folder, kind=KIND, meta={"corpus": "", "encoder": "", "encoder_id": "", "dimension": 1}):
            pass
        StoredVectors.open(folder)
    wide = StoredVectors.open(stored(tmp_path / "wide", dimension=5))
    with pytest.raises(IntegrityError, match=r"000000.npy: holds \(100, 4\) float32, not \(100, 5\) vectors"):
        wide[np.array([0])]
    block = stored(tmp_path / "flipped") / block_name(2)
    block.write_bytes(block.read_bytes()[:-1] + b"!")
    with pytest.raises(IntegrityError, match=r"000002.npy: damaged"):
        StoredVectors.open(tmp_path / "flipped")

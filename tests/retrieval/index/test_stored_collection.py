"""What every version holds is read alike, and marks that are not as many as the papers are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.starter import starter_corpus
from cocite.errors import IntegrityError
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.stored_collection import open_collection, open_manifest


def test_versions_in_shards_and_whole_hold_the_same_collection(tmp_path: Path) -> None:
    corpus = starter_corpus()
    whole = IndexSnapshot.create(corpus, tmp_path / "whole", known_until=2010)
    divided = ShardedIndex.create(corpus, tmp_path / "divided", shards=2, known_until=2010)
    found = [open_collection(index.path) for index in (whole, divided)]
    for collection in found:
        assert collection.history.year == 2010
        assert collection.alive.all()
        assert collection.names is not None
    np.testing.assert_array_equal(found[0].context_papers, found[1].context_papers)


@pytest.mark.parametrize(
    ("marks", "said"), [(np.ones(7, bool), r"bool \(7,\) where 423 marks"), (np.ones(423), "float64")]
)
def test_other_marks_are_refused(tmp_path: Path, marks: np.ndarray, said: str) -> None:
    path = IndexSnapshot.create(starter_corpus(), tmp_path).path
    np.save(path / "alive.npy", marks)
    with pytest.raises(IntegrityError, match=said):
        open_collection(path)


def test_a_file_that_was_cut_is_refused_even_where_files_count_as_verified(tmp_path: Path) -> None:
    path = IndexSnapshot.create(starter_corpus(), tmp_path).path
    assert open_manifest(path, verified=True).kind == "index"
    (path / "alive.npy").write_bytes(b"")
    with pytest.raises(IntegrityError, match=r"alive\.npy"):
        open_manifest(path, verified=True)

"""An index in memory that takes what it can from an index folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.same_answers import assert_same_answers
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.index.reuse import index_of, saved_vectors
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.sharded_retrievers import vector_retriever


def test_what_is_saved_is_not_made_again(corpus: Corpus, root: Path, encoder: HashEncoder) -> None:
    saved = IndexSnapshot.create(corpus, root, encoders=[encoder])
    history = History.until(corpus, 2006)
    encoder.encoded = 0
    other = HashEncoder("other-1", name="other")
    index = index_of(corpus, history, [encoder, other], saved=saved)
    assert (encoder.encoded, other.encoded) == (0, 80)
    assert set(index.vectors) == {"hash", "other"}
    fresh = index_of(corpus, history, [encoder])
    assert_same_answers(
        index, fresh, queries_of(corpus, range(len(corpus.contexts) - 20, len(corpus.contexts)))
    )
    np.testing.assert_array_equal(index.vectors["hash"].raw, fresh.vectors["hash"].raw)
    assert index_of(corpus, history, [HashEncoder("hash-2")], saved=saved).encoder_ids == {"hash": "hash-2"}


def test_saved_vectors_are_searched_as_those_of_the_index_under_a_history(
    corpus: Corpus, root: Path, encoder: HashEncoder
) -> None:
    saved = IndexSnapshot.create(corpus, root, encoders=[encoder])
    history = History.until(corpus, 2006)
    encoder.encoded = 0
    searched = saved_vectors(corpus, history, encoder, saved)
    assert encoder.encoded == 0
    queries = queries_of(corpus, range(20))
    found, wanted = (
        vector_retriever(index, encoder).search(queries, 10)
        for index in (searched, index_of(corpus, history, [encoder], saved=saved))
    )
    np.testing.assert_array_equal(found.rows, wanted.rows)
    with pytest.raises(InputError, match="were made by encoder"):
        saved_vectors(corpus, history, HashEncoder("hash-2"), saved)
    with pytest.raises(InputError, match="papers were removed"):
        saved_vectors(corpus, history, encoder, IndexSnapshot.remove(root, ["p3"]))


def test_an_index_that_does_not_fit_is_refused(corpus: Corpus, root: Path, tmp_path: Path) -> None:
    saved = IndexSnapshot.create(corpus, root, known_until=2005)
    with pytest.raises(InputError, match="knows less"):
        index_of(corpus, History.until(corpus, 2006), saved=saved)
    other = build(make_records(20), tmp_path / "other")
    with pytest.raises(InputError, match="index of corpus"):
        index_of(other, History.all(other), saved=saved)
    with pytest.raises(InputError, match="papers were removed"):
        index_of(corpus, History.until(corpus, 2005), saved=IndexSnapshot.remove(root, ["p3"]))

"""The index in memory: histories, encoders, and papers that a query may not retrieve."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.same_answers import assert_same_answers
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import Query
from cocite.retrieval.index.collection import last_years
from cocite.retrieval.index.index import Index


def test_rewinding_leaves_no_trace_of_later_sentences(corpus: Corpus) -> None:
    index = Index.build(corpus, History.all(corpus)).rewind(2004)
    fresh = Index.build(corpus, History.until(corpus, 2004))
    assert len(index.contexts) == len(fresh.contexts) < len(corpus.contexts)
    assert_same_answers(index, fresh, queries_of(corpus, range(100, 120)))
    with pytest.raises(ValueError, match="does not know"):
        index.with_history(History.all(corpus))


def test_one_more_encoder_leaves_the_other_parts_as_they_are(corpus: Corpus, encoder: HashEncoder) -> None:
    other = HashEncoder("other-1", 8, name="other")
    index = Index.build(corpus, History.all(corpus), encoders=[encoder])
    grown = index.with_vectors(other, "hnsw")
    assert grown.encoder_ids == {"hash": "hash-1", "other": "other-1"}
    assert grown.vectors["hash"] is index.vectors["hash"]
    assert grown.vectors["other"].kind == "hnsw"
    for part in ("papers", "contexts", "anchors"):
        assert getattr(grown, part) == getattr(index, part)
    replaced = grown.with_vectors(HashEncoder("other-2", 4, name="other"))
    assert (list(replaced.vectors), replaced.vectors["other"].dimension) == (["hash", "other"], 4)
    with pytest.raises(InputError, match="made by encoder other-2, not other-1"):
        replaced.check_encoder(other)
    with pytest.raises(InputError, match="no vectors of third"):
        replaced.check_encoder(HashEncoder(name="third"))


def test_removed_own_excluded_and_later_papers_are_forbidden(corpus: Corpus) -> None:
    alive = np.ones(len(corpus), bool)
    alive[[3, 5]] = False
    index = dataclasses.replace(Index.build(corpus, History.all(corpus)), alive=alive)
    queries = [
        Query("free"),
        Query("own", paper=7, exclude=(9, 11)),
        Query("dated", candidates_until=2003),
    ]
    scores = np.ones((3, len(corpus)), np.float32)
    assert index.forbid(scores, queries) is scores
    expected = [{3, 5}, {3, 5, 7, 9, 11}, {3, 5, *np.flatnonzero(corpus.years > 2003).tolist()}]
    assert [set(np.flatnonzero(np.isneginf(row)).tolist()) for row in scores] == expected


def test_queries_without_a_limit_of_years_have_none() -> None:
    assert last_years([Query("a"), Query("b")]) is None
    limits = last_years([Query("a", candidates_until=1999), Query("b")])
    assert limits.tolist() == [1999, np.iinfo(np.int32).max]


def test_progress_counts_every_text_and_vector(corpus: Corpus, encoder: HashEncoder) -> None:
    counts: list[int] = []
    Index.build(corpus, History.all(corpus), encoders=[encoder], advance=counts.append)
    assert sum(counts) == 2 * len(corpus) + len(corpus.contexts) + len(corpus)

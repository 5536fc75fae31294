"""The build plan: where each part comes from, and that what is made does not depend on it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.documents import FIELDS
from cocite.retrieval.index.parts import IndexParts
from cocite.retrieval.index.plan import BuildPlan, Source


def parts_equal(one: Bm25Index, other: Bm25Index) -> bool:
    """Whether two BM25 indexes hold the same documents with the same weights, whatever the words' numbers."""
    words = sorted({*one.vocabulary, *other.vocabulary})
    same = np.array_equal(one.lengths, other.lengths)
    return same and np.array_equal(one.scores(words), other.scores(words))


@pytest.fixture(scope="module")
def parts(corpus: Corpus) -> IndexParts:
    return BuildPlan.new(corpus, History.all(corpus), [HashEncoder()]).make()


@given(st.integers(1999, 2010))
def test_a_shorter_history_selects_what_a_build_would_make(
    corpus: Corpus, parts: IndexParts, year: int
) -> None:
    history = History.until(corpus, year)
    plan = BuildPlan.with_history(parts, history)
    assert (plan.papers, plan.contexts) == (Source.REUSE, Source.SELECT)
    made, fresh = plan.make(), BuildPlan.new(corpus, history).make()
    assert made.papers == parts.papers
    assert made.vectors["hash"] is parts.vectors["hash"]
    assert parts_equal(made.contexts, fresh.contexts)
    for name in ("windows", "whole", "near"):
        assert parts_equal(getattr(made.anchors, name), getattr(fresh.anchors, name))


def test_a_history_of_more_papers_than_the_base_knows_is_refused(corpus: Corpus, parts: IndexParts) -> None:
    early = BuildPlan.with_history(parts, History.until(corpus, 2003)).make()
    with pytest.raises(ValueError, match="does not know the contexts"):
        BuildPlan.with_history(early, History.all(corpus))


def test_one_encoders_vectors_are_built_and_all_else_is_reused(corpus: Corpus, parts: IndexParts) -> None:
    other = HashEncoder("other-1", 8, name="other")
    plan = BuildPlan.with_vectors(parts, other)
    assert {name: vectors.source for name, vectors in plan.vectors.items()} == {
        "hash": Source.REUSE,
        "other": Source.BUILD,
    }
    made = plan.make()
    assert made.contexts is parts.contexts
    assert made.anchors is parts.anchors
    assert other.encoded == len(corpus)


def test_an_extension_reads_and_encodes_the_new_papers_alone(
    corpus: Corpus, parts: IndexParts, tmp_path: Path
) -> None:
    grown = build(make_records(9, start=80, seed=2), tmp_path / "grown", base=corpus)
    encoder, counts = HashEncoder(), []
    plan = BuildPlan.with_papers(parts, grown, History.all(grown), {"hash": encoder})
    made = plan.make(counts.append)
    assert encoder.encoded == 9
    assert sum(counts) == 2 * 9 + (len(grown.contexts) - len(corpus.contexts)) + 9
    assert made.alive.tolist() == [True] * 89
    fresh = BuildPlan.new(grown, History.all(grown), [HashEncoder()]).make()
    for name in FIELDS:
        np.testing.assert_array_equal(made.papers[name].lengths, fresh.papers[name].lengths)
    np.testing.assert_array_equal(made.contexts.lengths, fresh.contexts.lengths)
    np.testing.assert_array_equal(made.vectors["hash"].raw, fresh.vectors["hash"].raw)


def test_a_new_index_has_no_base_and_its_own_parameters(corpus: Corpus, encoder: HashEncoder) -> None:
    fields = Bm25Fields.from_options(["title.k1=2"], option="--bm25")
    plan = BuildPlan.new(corpus, History.all(corpus), [encoder], bm25=fields, vector_kind="hnsw")
    assert plan.base is None
    made = plan.make()
    assert (made.papers["title"].k1, made.papers["text"].k1, made.vectors["hash"].kind) == (2, 1.2, "hnsw")
    orphan = dataclasses.replace(plan, contexts=Source.REUSE)
    with pytest.raises(ValueError, match="no base"):
        orphan.make()

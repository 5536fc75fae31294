"""Scores of anchor texts: what a query's own paper says does not count."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.packed_counts import FieldCounts
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.anchors import Anchors, window_texts
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.text.gaps import around_gap, strip_marks


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus))


@pytest.mark.parametrize("near", [False, True])
def test_an_indexed_manuscript_scores_as_one_whose_contexts_are_not_there(
    corpus: Corpus, index: Index, near: bool
) -> None:
    """The documents lack its contexts; idf and mean length are those of the index."""
    [query] = queries_of(corpus, [200])
    texts = window_texts([query]) if near else [strip_marks(query.context)]
    anchors = Anchors(index)
    scores = anchors.scores(index.contexts.count(texts), SelfCitations(index, [query]), near=near)[0]
    form = around_gap if near else strip_marks
    documents = anchors.near if near else anchors.whole
    for row in corpus.cites[query.paper].tolist():
        texts_of_others = [
            form(text)
            for position in np.flatnonzero(corpus.context_citing != query.paper)
            for text in corpus.contexts.take("text", [int(position)])
            if row in corpus.context_cited[int(position)]
        ]
        numbers, indptr = documents.tokenizer.lookup([" ".join(texts_of_others)], documents.vocabulary)
        counts = matrices.counted(numbers, indptr, columns=len(documents.vocabulary))
        weights = documents._weighting.weigh(FieldCounts.of(counts)).toarray()[0]
        asked = documents.query_words(texts)
        expected = float(weights[asked.words] @ asked.times[0])
        assert scores[row] == pytest.approx(expected, rel=1e-5)
    others = np.setdiff1d(np.arange(len(corpus)), corpus.cites[query.paper])
    np.testing.assert_array_equal(scores[others], documents.scores(texts)[0, others])


def test_an_index_without_anchor_texts_is_refused(corpus: Corpus) -> None:
    bare = Index(corpus, History.all(corpus), np.ones(80, bool), {}, Bm25Index.build([]))
    with pytest.raises(InputError, match=r"Index\.build"):
        Anchors(bare)

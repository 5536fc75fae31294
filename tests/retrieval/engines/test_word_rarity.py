"""The rarity of words is BM25's idf, also in a collection that lacks a paper."""

from __future__ import annotations

import numpy as np

from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.word_rarity import OwnWords, WordRarity

PAPERS = ["parsing with trees", "parsing with charts", "neural parsing", "neural translation"]
CONTEXTS = ["we use trees", "trees and charts", "translation is neural"]
WORDS = ["parsing", "trees", "neural", "gene", "trees"]


def rarity(papers: list[str], contexts: list[str]) -> WordRarity:
    return WordRarity(Bm25Index.build(papers), Bm25Index.build(contexts), (len(papers), len(contexts)))


def test_it_is_the_mean_of_the_idf_among_papers_and_contexts() -> None:
    found = rarity(PAPERS, CONTEXTS)
    expected = (
        found.papers.idf[found.papers.vocabulary["trees"]]
        + found.contexts.idf[found.contexts.vocabulary["trees"]]
    ) / 2
    np.testing.assert_allclose(found.of(["trees"]), [expected])
    assert found.of([]).shape == (0,)


def test_a_paper_left_out_leaves_no_trace() -> None:
    whole = rarity(PAPERS, CONTEXTS)
    own = OwnWords.of(whole.words(PAPERS[0]), [whole.words(CONTEXTS[0]), whole.words(CONTEXTS[1])])
    np.testing.assert_allclose(whole.of(WORDS, own), rarity(PAPERS[1:], CONTEXTS[2:]).of(WORDS))


def test_words_are_unknown_where_neither_papers_nor_contexts_hold_one() -> None:
    found = rarity(PAPERS, CONTEXTS)
    assert found.are_unknown(["gene", "protein"])
    assert not found.are_unknown(["gene", "use"])  # which a context holds
    assert not found.are_unknown([])

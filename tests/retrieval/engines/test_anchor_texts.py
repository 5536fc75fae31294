"""Anchor texts: the documents are the contexts that cite a paper, joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.anchor_texts import AnchorTexts, cited_by_context
from cocite.retrieval.engines.bm25 import Bm25Index

WORDS = "graph neural parsing chart model".split()
text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
citing = st.lists(st.tuples(text, text, st.sets(st.integers(0, 3))), min_size=1, max_size=8)


def cited(contexts: list[tuple[str, str, set[int]]]) -> CSR:
    pairs = [(i, paper) for i, (_, _, papers) in enumerate(contexts) for paper in papers]
    return CSR.build([i for i, _ in pairs], [paper for _, paper in pairs], len(contexts))


def anchors_of(contexts: list[tuple[str, str, set[int]]]) -> AnchorTexts:
    whole, windows = (Bm25Index.build(context[i] for context in contexts) for i in (0, 1))
    return AnchorTexts.of(whole, windows, cited(contexts), papers=4)


@given(citing, text)
def test_a_paper_scores_as_all_that_cites_it_in_one_text(
    contexts: list[tuple[str, str, set[int]]], query: str
) -> None:
    anchors = anchors_of(contexts)
    for index, part in ((anchors.whole, 0), (anchors.near, 1)):
        joined = [
            " ".join(context[part] for context in contexts if paper in context[2]) for paper in range(4)
        ]
        np.testing.assert_allclose(index.scores([query]), Bm25Index.build(joined).scores([query]), rtol=1e-6)


def test_statistics_of_earlier_anchor_texts_stay() -> None:
    contexts = [("graph model", "model", {0}), ("chart parsing", "chart", {1}), ("chart model", "model", {2})]
    early = anchors_of(contexts[:2])
    whole, windows = (Bm25Index.build([c[i] for c in contexts[:2]]).append([contexts[2][i]]) for i in (0, 1))
    grown = AnchorTexts.of(whole, windows, cited(contexts), 4, like=early)
    np.testing.assert_array_equal(grown.whole.scores(["chart"])[0, :2], early.whole.scores(["chart"])[0, :2])
    assert grown.whole.mean_length == early.whole.mean_length


def test_each_known_context_has_the_papers_it_cites(corpus: Corpus) -> None:
    history = History.until(corpus, 2004)
    table = cited_by_context(history)
    assert len(table) == len(history.contexts) < len(corpus.contexts)
    for document, position in enumerate(history.contexts):
        assert table[document].tolist() == corpus.context_cited[int(position)].tolist()
    assert len(AnchorTexts().whole) == 0

"""Anchor texts: the documents are the contexts that cite a paper, joined."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.anchor_texts import AnchorChange, AnchorTexts, cited_by_context
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


def windows_of(contexts: Bm25Index, chosen: list[tuple[str, str, set[int]]]) -> sp.csr_matrix:
    """The words of the windows in the contexts' vocabulary."""
    numbers = contexts.tokenizer.learn((c[1] for c in chosen), contexts.vocabulary)
    return matrices.counted(*numbers, columns=len(contexts.vocabulary))


@given(citing, citing)
def test_contexts_that_come_and_go_change_what_they_cite_and_no_statistics(
    first: list[tuple[str, str, set[int]]], later: list[tuple[str, str, set[int]]]
) -> None:
    both = first + later
    known = Bm25Index.build(f"{whole} {window}" for whole, window, _ in first)
    windows = known.like(known.vocabulary, windows_of(known, first), known.idf)
    early = AnchorTexts.of(known, windows, cited(first), 4)
    contexts = known.append([f"{whole} {window}" for whole, window, _ in later])
    added = contexts.counts.matrix()[len(first) :], windows_of(contexts, later)
    all_windows = windows.append_counts(contexts.vocabulary, added[1])
    change = AnchorChange.of(*added, cited(later))
    grown = early.changed(all_windows, change, 5, contexts.vocabulary)
    fresh = AnchorTexts.of(contexts, all_windows, cited(both), 5)
    for ours, theirs, before in zip(*((a.whole, a.near) for a in (grown, fresh, early)), strict=True):
        assert (ours.counts.matrix() != theirs.counts.matrix()).nnz == 0
        np.testing.assert_array_equal(ours.lengths, theirs.lengths)
        np.testing.assert_array_equal(ours.idf[: len(before.idf)], before.idf)
        assert (ours.mean_length, len(ours)) == (before.mean_length, 5)
    again = grown.changed(windows, AnchorChange.of(*added, cited(later), times=-1), 5)
    for ours, before in ((again.whole, early.whole), (again.near, early.near)):
        assert ours.counts.matrix().nnz == before.counts.matrix().nnz
        np.testing.assert_array_equal(ours.scores(WORDS)[:, :4], before.scores(WORDS))


def test_each_known_context_has_the_papers_it_cites(corpus: Corpus) -> None:
    history = History.until(corpus, 2004)
    table = cited_by_context(history)
    assert len(table) == len(history.contexts) < len(corpus.contexts)
    for document, position in enumerate(history.contexts):
        assert table[document].tolist() == corpus.context_cited[int(position)].tolist()
    assert len(AnchorTexts().whole) == 0

"""The links and contexts of the queries' own papers."""

from __future__ import annotations

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.signals.self_citations import SelfCitations


def test_links_and_contexts_are_those_of_the_querys_own_paper(corpus: Corpus) -> None:
    index = Index.build(corpus, History.until(corpus, 2006))
    rows = [40, NO_ROW, 12, 79, 0]
    own = SelfCitations(index, [Query(str(row), title="x", paper=row) for row in rows])
    assert own.present.tolist() == [True, False, True, True, True]
    links, contexts = own.links.dense(), own.contexts().dense()
    for i, row in enumerate(rows):
        known = row != NO_ROW and corpus.years[row] <= 2006
        expected = np.zeros((2, len(corpus)))
        if known:
            expected[0, corpus.cites[row]] = 1
            for position in np.flatnonzero(corpus.context_citing == row):
                expected[1, corpus.context_cited[int(position)]] += 1
            assert (index.context_papers[own.begin[i] : own.end[i]] == row).all()
        np.testing.assert_array_equal([links[i], contexts[i]], expected)
        assert own.end[i] - own.begin[i] == (known and (corpus.context_citing == row).sum())

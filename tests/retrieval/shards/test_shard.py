"""A shard answers with rows of the whole index, finds what is near, and leaves a query's own contexts out."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.pooled_signals import UNLIMITED_POOL, PooledSignals
from cocite.pipeline.signals import Signals
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.shards.messages import SearchRequest
from cocite.retrieval.shards.paper_filter import PaperFilter
from cocite.retrieval.shards.shard import YEAR_MASKS
from cocite.retrieval.signals.anchors import Anchors
from cocite.retrieval.signals.self_citations import SelfCitations
from cocite.text.gaps import strip_marks


@pytest.fixture(scope="module")
def sharded(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ShardedIndex:
    return ShardedIndex.create(corpus, tmp_path_factory.mktemp("shards"), shards=3)


def test_rows_are_those_of_the_whole_index(corpus: Corpus, sharded: ShardedIndex) -> None:
    whole = Index.build(corpus, History.all(corpus))
    texts = ["parsing grammar study5", "translation alignment"]
    expected = whole.papers["text"].search(texts, 9)
    words = [sharded.paper_words([text]) for text in texts]
    request = SearchRequest("text", words, None, [PaperFilter()] * 2, 9)
    replies = [shard.search(request) for shard in sharded.local_shards]
    for i in range(len(texts)):
        rows = np.concatenate([reply[i].rows for reply in replies])
        scores = np.concatenate([reply[i].scores for reply in replies])
        best = np.lexsort((rows, -scores))[:9]
        np.testing.assert_allclose(scores[best], expected.scores[i], rtol=1e-5)
    late = SearchRequest("text", words, None, [PaperFilter(year_from=2008)] * 2, 9)
    for shard in sharded.local_shards:
        for best in shard.search(late):
            assert (corpus.years[best.rows] >= 2008).all()


def test_what_years_allow_is_computed_once_and_lists_of_papers_leave_it_as_it_is(
    corpus: Corpus, sharded: ShardedIndex
) -> None:
    shard = sharded.local_shards[1]
    rows = np.arange(len(corpus), dtype=np.int32)
    by_year = shard._allowed(PaperFilter(known_until=2004))
    for papers in (
        PaperFilter.rows(rows[::7], known_until=2004),
        PaperFilter.rows(rows[::5], only=rows[::3], known_until=2004),
        PaperFilter(known_until=2004),
    ):
        allowed = shard._allowed(papers)
        assert allowed is not None
        np.testing.assert_array_equal(allowed, papers.allowed(shard.years, shard.first))
        assert (allowed is by_year) == (papers.only is None and not len(papers.without))
    for year in range(1990, 2020):
        shard._allowed(PaperFilter(year_from=year))
    assert len(shard._by_year) == YEAR_MASKS


def test_own_contexts_are_left_out_on_whichever_shard_the_cited_papers_are(
    corpus: Corpus, sharded: ShardedIndex
) -> None:
    """As the dense scores of anchor texts leave them out, which an independent test checks."""
    whole = Index.build(corpus, History.all(corpus))
    queries = queries_of(corpus, [150, 200, 230])
    anchors = Anchors(whole)
    texts = whole.contexts.count([strip_marks(query.context) for query in queries])
    expected = anchors.scores(texts, SelfCitations(whole, queries))
    block = PooledSignals(Signals(sharded), queries, UNLIMITED_POOL)
    ranking = block.ranking({"whole>text": 1.0}, 60)
    found = block.at(ranking)["context>anchors"]
    np.testing.assert_allclose(found, np.take_along_axis(expected, ranking.rows, 1), rtol=1e-5, atol=1e-6)
    cited = [row for query in queries for row in corpus.cites[query.paper].tolist()]
    owners = {
        next(i for i, s in enumerate(sharded.local_shards) if len(s.local(np.array([r])))) for r in cited
    }
    assert len(owners) > 1


def test_a_shard_knows_which_rows_lie_in_it(sharded: ShardedIndex) -> None:
    first, second, third = sharded.local_shards
    rows = np.arange(80)
    parts = [shard.local(rows) + shard.first for shard in (first, second, third)]
    np.testing.assert_array_equal(np.concatenate(parts), rows)
    assert len(second.local(np.array([-1]))) == 0

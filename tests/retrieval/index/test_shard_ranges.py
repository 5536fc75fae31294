"""Papers are divided into contiguous ranges with the contexts in them."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.shard_ranges import PAPERS, choose_count, divide


@pytest.mark.parametrize("count", [1, 2, 7, 80])
def test_every_paper_and_context_lies_in_one_range(corpus: Corpus, count: int) -> None:
    collection = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool))
    ranges = divide(collection, count)
    assert sum(part.papers for part in ranges) == len(corpus)
    assert sum(part.contexts for part in ranges) == len(collection.context_papers)
    for part, behind in zip(ranges, [*ranges[1:], None], strict=True):
        papers = collection.context_papers[part.first_context : part.last_context]
        assert ((papers >= part.first) & (papers < part.last)).all()
        assert behind is None or (part.last, part.last_context) == (behind.first, behind.first_context)
    assert max(part.papers for part in ranges) - min(part.papers for part in ranges) <= 1


def test_more_shards_than_papers_are_refused(corpus: Corpus) -> None:
    collection = Collection(corpus, History.all(corpus), np.ones(len(corpus), bool))
    with pytest.raises(InputError, match="81 shards are more than the 80 papers"):
        divide(collection, 81)


def test_the_usual_number_follows_the_papers() -> None:
    assert [choose_count(papers) for papers in (0, 1, PAPERS, PAPERS + 1)] == [1, 1, 1, 2]

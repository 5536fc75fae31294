"""An index under a history, made anew or taken from a folder; over actors it is tested with what searches it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite_jobs.retrieval.opened_index import SearchPlace, opened_index


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(120, seed=3, split=(3, 1))


def test_an_index_in_shards_is_rewound_to_the_history(corpus: Corpus, tmp_path: Path) -> None:
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    history = tasks.history_before(corpus, "dev")
    for saved in (None, tmp_path / "index"):
        told: list[int] = []
        bar = nullcontext(told.append)
        with opened_index(corpus, history, [], saved, SearchPlace(), lambda bar=bar: bar) as index:
            assert len(index.shards) == (1 if saved is None else 2)
            np.testing.assert_array_equal(index.history.citing, history.citing)


@pytest.mark.integration
def test_shards_elsewhere_stay_as_they_were_built(corpus: Corpus, tmp_path: Path) -> None:
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    place, bar = SearchPlace("ray"), nullcontext(lambda _: None)
    with opened_index(corpus, History.all(corpus), [], tmp_path / "index", place, lambda: bar) as index:
        assert len(index.shards) == 2
    with (
        pytest.raises(InputError, match="knows other links"),
        opened_index(corpus, tasks.history_before(corpus, "dev"), [], tmp_path / "index", place, lambda: bar),
    ):
        pass

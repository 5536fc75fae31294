"""An index under a shorter history, in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.saved_histories import KIND, open_history, save_history
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot

YEAR = 2006


@pytest.fixture(params=[1, 3])
def index(
    request: pytest.FixtureRequest, corpus: Corpus, root: Path, encoder: HashEncoder
) -> Index | ShardedIndex:
    if request.param == 1:
        return IndexSnapshot.create(corpus, root, encoders=[encoder])
    return ShardedIndex.create(corpus, root, shards=request.param, encoders=[encoder])


def test_it_answers_as_the_one_in_memory(corpus: Corpus, index: Index | ShardedIndex, tmp_path: Path) -> None:
    rewound = index.rewind(YEAR)
    save_history(rewound, tmp_path / "history")
    verify(tmp_path / "history", kind=KIND)
    opened = open_history(index, tmp_path / "history")
    assert type(opened) is type(index)
    assert np.array_equal(opened.history.citing, rewound.history.citing)
    assert np.array_equal(opened.context_papers, rewound.context_papers)
    assert 0 < len(opened.context_papers) < len(index.context_papers)
    assert np.array_equal(opened.cited_by_context.indices, rewound.cited_by_context.indices)
    queries = queries_of(corpus, range(len(corpus.contexts) - 20, len(corpus.contexts)))
    found, wanted = (
        FirstStage(one).retrieve(queries, Options(top_k=10, depth=10)) for one in (opened, rewound)
    )
    assert np.array_equal(found.ranking.rows, wanted.ranking.rows)
    assert np.array_equal(found.ranking.scores, wanted.ranking.scores)
    for name, values in wanted.signals.items():
        assert np.array_equal(found.signals[name], values, equal_nan=True), name


def test_it_takes_the_place_of_another_and_one_of_another_index_is_refused(
    index: Index | ShardedIndex, corpus: Corpus, root: Path, tmp_path: Path
) -> None:
    for year in (YEAR - 1, YEAR):
        save_history(index.rewind(year), tmp_path / "history")
    assert open_history(index, tmp_path / "history").history.year == YEAR
    (tmp_path / "history" / "citing.npy").unlink()
    with pytest.raises(IntegrityError, match=r"citing\.npy"):
        open_history(index, tmp_path / "history")
    save_history(index.rewind(YEAR), tmp_path / "history")
    other = IndexSnapshot.create(corpus, root)
    with pytest.raises(InputError, match="is a history of another index"):
        open_history(other, tmp_path / "history")

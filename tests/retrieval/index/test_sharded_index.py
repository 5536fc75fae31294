"""An index in shards: however the papers are divided, searches give the same lists with the same scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.exact_stage import exact_stage
from helpers.topic_corpus import HashEncoder, queries_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.explanations import Explainer
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.sharded_index import ShardedIndex

COUNTS = (1, 2, 4, 7)


@pytest.fixture(scope="module")
def sharded(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[int, ShardedIndex]:
    """The same corpus in some numbers of shards."""
    root = tmp_path_factory.mktemp("sharded")
    encoders = [HashEncoder()]
    return {
        count: ShardedIndex.create(corpus, root / str(count), shards=count, encoders=encoders)
        for count in COUNTS
    }


@given(data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_number_of_shards_gives_the_same_list_scores_and_evidence(
    corpus: Corpus, sharded: dict[int, ShardedIndex], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(corpus) - 1), min_size=1, max_size=3, unique=True))
    queries = queries_of(corpus, rows)
    if data.draw(st.booleans()):
        queries = [dataclasses.replace(query, context="") for query in queries]
    if data.draw(st.booleans()):
        queries[0] = dataclasses.replace(queries[0], paper=-1, exclude=(rows[0],))
    options = Options(
        depth=12,
        year_to=data.draw(st.sampled_from([None, int(np.median(corpus.years))])),
        candidates=data.draw(st.sampled_from([None, "older"])),
        exclude=tuple(data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=3))),
    )
    found = {count: exact_stage(index).retrieve(queries, options) for count, index in sharded.items()}
    one = found.pop(1)
    for count, other in found.items():
        np.testing.assert_array_equal(other.ranking.rows, one.ranking.rows)
        np.testing.assert_array_equal(other.ranking.scores, one.ranking.scores)
        np.testing.assert_array_equal(other.sentence_voters.rows, one.sentence_voters.rows)
        for name, values in one.signals.items():
            np.testing.assert_array_equal(other.signals[name], values, err_msg=f"{name} of {count}")
        for i, query in enumerate(queries):
            best = one.ranking.rows[i, :5]
            best = best[best >= 0]
            reasons = [
                Explainer(index).evidence(query, i, best, candidates)
                for index, candidates in ((sharded[1], one), (sharded[count], other))
            ]
            assert reasons[0] == reasons[1]


def test_shards_give_what_an_index_that_is_searched_whole_gives(
    corpus: Corpus, sharded: dict[int, ShardedIndex]
) -> None:
    whole = Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])
    queries = queries_of(corpus, range(60, 70))
    expected = FirstStage(whole, [HashEncoder()], weights=exact_stage(whole).weights).search(queries, 15)
    found = exact_stage(sharded[4]).search(queries, 15)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)
    text = queries[0].context
    rows = expected.rows[0, :5].tolist()
    for ours, theirs in zip(
        sharded[4].shared_terms(text, rows, 5, ()), whole.shared_terms(text, rows, 5, ()), strict=True
    ):
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([weight for _, weight in ours], [weight for _, weight in theirs])


def test_a_shorter_history_leaves_no_trace_of_later_contexts(
    corpus: Corpus, sharded: dict[int, ShardedIndex], tmp_path: Path
) -> None:
    year = int(np.median(corpus.years))
    fresh = ShardedIndex.create(corpus, tmp_path, shards=3, known_until=year, encoders=[HashEncoder()])
    rewound = sharded[4].rewind(year)
    assert len(rewound.history.contexts) < len(sharded[4].history.contexts)
    queries = queries_of(corpus, range(60, 66))
    one, other = exact_stage(fresh).search(queries, 10), exact_stage(rewound).search(queries, 10)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.scores, other.scores)
    with pytest.raises(ValueError, match="does not know the contexts of"):
        rewound.with_history(History.all(corpus))


def test_usual_limits_keep_nearly_all_of_the_best(corpus: Corpus, sharded: dict[int, ShardedIndex]) -> None:
    queries = [*queries_of(corpus, range(40, 50)), Query("q", title="parsing")]
    stage = FirstStage(sharded[7], [HashEncoder()], weights=exact_stage(sharded[7]).weights)
    found, expected = stage.search(queries, 10).rows, exact_stage(sharded[7]).search(queries, 10).rows
    assert np.mean([np.isin(a, b).mean() for a, b in zip(expected, found, strict=True)]) > 0.95


def test_vectors_are_read_from_the_shard_that_holds_them(
    corpus: Corpus, sharded: dict[int, ShardedIndex]
) -> None:
    rows = np.array([3, 77, 20, 3])
    vectors = sharded[7].paper_vectors("hash")
    assert len(vectors) == len(corpus)
    np.testing.assert_array_equal(vectors[rows], HashEncoder().encode_papers(corpus, rows))
    more = sharded[2].with_vectors(HashEncoder())
    np.testing.assert_array_equal(more.paper_vectors("hash")[rows], vectors[rows])


def test_names_lie_beside_the_shards(corpus: Corpus, sharded: dict[int, ShardedIndex]) -> None:
    for index in sharded.values():
        assert (index.path / "names" / "authors.hashes.npy").is_file()
        assert index.names is index.name_tables
        assert index.name_tables.authors.papers.indices.tolist() == sorted(range(80), key=author_of(index))


def author_of(index: ShardedIndex) -> Callable[[int], tuple[int, int]]:
    numbers = index.name_tables.authors.find([f"a{i}" for i in range(5)])
    return lambda row: (int(numbers[row % 5]), row)

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.phases import observed
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.signals import Signals
from cocite.pipeline.weights import weights_for
from cocite.protocols import NO_ROW, Query, Ranking, Retriever
from cocite.retrieval.index.index import Index


def test_it_finds_what_is_cited(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    def recall(ranking: Ranking) -> float:
        found = [np.isin(corpus.cites[row], ranking.rows[i]).mean() for i, row in enumerate(later)]
        return float(np.mean(found))

    chance = 20 / len(corpus)
    whole = recall(first.search(queries_of(corpus, later, context=False), 20))
    local = recall(first.search(queries_of(corpus, later, context=True), 20))
    assert whole > 10 * chance
    assert local > 10 * chance
    history = DenseSignals(Signals(first.index), queries_of(corpus, later, context=True))
    votes = sum(history.over_all(name) for name in ("sentences", "neighbours-50", "near-sentences"))
    assert recall(Ranking.best(np.asarray(votes, np.float32), 20)) > 5 * chance


def test_a_rewound_index_equals_one_built_at_that_time(
    corpus: Corpus, whole: Index, last_year: int, later: list[int]
) -> None:
    """A rewound index equals one built from a history that ends there."""
    fresh = FirstStage(Index.build(corpus, History.until(corpus, last_year)))
    rewound = FirstStage(whole.rewind(last_year))
    queries = queries_of(corpus, later[:8], context=True)
    a, b = fresh.retrieve(queries), rewound.retrieve(queries)
    np.testing.assert_array_equal(a.ranking.rows, b.ranking.rows)
    for name in a.signals:
        np.testing.assert_allclose(a.signals[name], b.signals[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_mixed_batches_answer_as_single_queries(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    mixed = [
        *queries_of(corpus, later[:3], context=True),
        *queries_of(corpus, later[3:5], context=False),
        *queries_of(corpus, later[5:7], context=True),
    ]
    together = first.retrieve(mixed, Options(depth=50), wide=120)
    assert together.ranking.rows.shape == (7, 120)
    for i, query in enumerate(mixed):
        alone = first.retrieve([query], Options(depth=50), wide=120)
        np.testing.assert_array_equal(together.ranking.rows[i], alone.ranking.rows[0])
        for name, values in alone.signals.items():
            np.testing.assert_allclose(
                together.signals[name][i], values[0], rtol=1e-4, atol=1e-5, err_msg=name
            )


def test_options_are_kept(corpus: Corpus, first: FirstStage, later: list[int]) -> None:
    query = queries_of(corpus, later[:1], context=False)[0]
    free = first.retrieve([query], Options(depth=600)).ranking.rows[0]
    assert query.paper not in free
    years = np.unique(corpus.years)
    low, high = int(years[2]), int(years[-3])
    banned = corpus.paper(int(free[0])).authors[:1]
    options = Options(
        depth=600, year_from=low, year_to=high, exclude=(int(free[1]),), exclude_authors=(banned[0].upper(),)
    )
    rows = first.retrieve([dataclasses.replace(query, exclude=(int(free[2]),))], options).ranking.rows[0]
    rows = rows[rows != NO_ROW]
    assert len(rows)
    assert not np.isin(free[1:3], rows).any()
    assert ((corpus.years[rows] >= low) & (corpus.years[rows] <= high)).all()
    assert all(banned[0] not in corpus.paper(int(row)).authors for row in rows)


def test_it_is_a_retriever(first: FirstStage) -> None:
    assert isinstance(first, Retriever)


def test_a_weight_of_an_unknown_signal_is_refused(whole: Index, corpus: Corpus, later: list[int]) -> None:
    stage = FirstStage(whole, weights={"global": {"whole>txt": 1.0}, "local": {}})
    with pytest.raises(InputError, match="did you mean 'whole>text'"):
        stage.search(queries_of(corpus, later[:1], context=False), 5)


class LengthEncoder:
    """The vector of a text is a unit vector chosen by the length of the title."""

    dimension = 8

    def __init__(self, name: str) -> None:
        self.name, self.id = name, f"{name}-1"

    def _encode(self, lengths: list[int]) -> np.ndarray:
        return np.eye(8, dtype=np.float32)[np.array(lengths) % 8]

    def encode_papers(self, corpus: Corpus, rows: np.ndarray) -> np.ndarray:
        return self._encode([len(title) for title in corpus.papers.take("title", rows)])

    def encode_queries(self, queries: list) -> np.ndarray:
        return self._encode([len(query.title) for query in queries])


def test_each_encoder_is_a_signal_and_counts_in_the_blend_if_it_is_there(
    corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    encoders = [LengthEncoder("nnselect"), LengthEncoder("hatten")]
    index = first.index
    for encoder in encoders:
        index = index.with_vectors(encoder)
    queries = queries_of(corpus, later[:4], context=True)
    weights = {"local": {"nnselect": 1.0, "hatten": 0.5, "sentence": 3.0}, "global": {}}
    stage = FirstStage(index, encoders, weights=weights)
    found = stage.retrieve(queries, Options(depth=20))
    same = np.array([[len(corpus.paper(int(row)).title) % 8 for row in rows] for rows in found.ranking.rows])
    own = np.array([[len(query.title) % 8] for query in queries])
    assert (same == own).all(), "a signal without its encoder is left out, and the others decide"
    np.testing.assert_array_equal(found.signals["nnselect"], 1.0)
    assert "sentence" not in found.signals
    alone = FirstStage(index, encoders[:1], weights=weights).retrieve(queries, Options(depth=20))
    assert "hatten" not in alone.signals
    assert weights_for(["a", "b"])["global"] != weights_for(["a"])["global"] == weights_for([])["global"]


def test_papers_that_are_asked_for_alone_keep_their_scores(
    whole: Index, corpus: Corpus, later: list[int]
) -> None:
    dense, pooled = FirstStage(whole, dense=True), FirstStage(whole, dense=False)
    rng = np.random.default_rng(0)
    for context in (False, True):
        [query] = queries_of(corpus, later[:1], context=context)
        rows = [int(row) for row in rng.choice(len(corpus), 12, replace=False) if row != query.paper]
        options = Options(depth=len(rows), only=tuple(rows))
        found = dense.retrieve([query], options)
        assert set(found.ranking.rows[0].tolist()) == set(rows)
        everything = dense.retrieve([query], Options(depth=len(corpus))).ranking
        scores = dict(zip(everything.rows[0].tolist(), everything.scores[0].tolist(), strict=True))
        assert found.ranking.scores[0].tolist() == [scores[row] for row in found.ranking.rows[0].tolist()]
        assert set(pooled.retrieve([query], options).ranking.rows[0].tolist()) == set(rows)


def test_weights_and_retrievers_of_a_request(whole: Index, corpus: Corpus, later: list[int]) -> None:
    first = FirstStage(
        whole, weights={"local": {"near>title": 1.0}, "global": {"whole>text": 0.8, "sentences": 0.3}}
    )
    [query] = queries_of(corpus, later[:1], context=False)

    def rows(**options: object) -> list[int]:
        return first.retrieve([query], Options(depth=20, **options)).ranking.rows[0].tolist()  # type: ignore[arg-type]

    def under(**weights: float) -> list[int]:
        names = {name.replace("_", ">"): weight for name, weight in weights.items()}
        stage = FirstStage(whole, weights={"local": {}, "global": names})
        return stage.retrieve([query], Options(depth=20)).ranking.rows[0].tolist()

    assert rows() == under(whole_text=0.8, sentences=0.3)
    assert rows(weights=(("whole>text", 0.8),)) == rows()
    assert rows(weights=(("sentences", 0.0),)) == under(whole_text=0.8)
    assert rows(retrievers=("title>title",)) == under(title_title=1.0) != rows()
    assert rows(retrievers=("whole>text",)) == under(whole_text=0.8)
    assert rows(retrievers=("whole>text",), weights=(("title>title", 0.2),)) == under(
        whole_text=0.8, title_title=0.2
    )
    with pytest.raises(
        InputError, match=r"retrievers: no signal is called 'sentense' for global queries .*'sentences'"
    ):
        rows(retrievers=("sentense",))
    with pytest.raises(InputError, match=r"weights: no signal is called 'near>title' for global queries"):
        rows(weights=(("near>title", 1.0),))
    with pytest.raises(InputError, match="weights: no signal is left to find candidates"):
        rows(retrievers=("whole>text",), weights=(("whole>text", 0.0),))


def test_it_tells_an_observer_of_its_phases(first: FirstStage) -> None:
    seen: list[str] = []

    @contextmanager
    def note(name: str) -> Iterator[None]:
        seen.append(name)
        yield

    with observed(note):
        first.retrieve([Query("q", title="Parsing")], Options(depth=5))
    assert seen == ["generate", "encode", "score"]

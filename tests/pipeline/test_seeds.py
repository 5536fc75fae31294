"""Seeds steer the ranking: with a text, without one, over every way to compute the signals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Candidates, Options, Stages
from cocite.pipeline.pooled_signals import UNLIMITED_POOL
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.seeds import SEEDS, SIGNAL, SeedScores, add_seeds, with_seeds
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.index import Index


class Topics:
    """An encoder of the tests: papers of neighbouring rows have near vectors."""

    name, id, dimension = "sentence", "topics", 2

    def encode_papers(self, corpus: Corpus, rows: np.ndarray) -> np.ndarray:
        angles = np.asarray(rows) / 400
        return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)

    def encode_queries(self, queries: list[Query]) -> np.ndarray:
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(queries), 1))


def seeded(corpus: Corpus, row: int, *, text: bool = False) -> Query:
    paper = corpus.paper(row)
    texts = {"title": paper.title, "abstract": paper.abstract} if text else {}
    return Query(
        paper.id, **texts, year=paper.year, paper=row, like=tuple(corpus.cites[row][1:].tolist())
    ).older_candidates()


@pytest.fixture(scope="module")
def rows(corpus: Corpus, later: list[int]) -> list[int]:
    return [row for row in later if len(corpus.cites[row]) >= 3]


def test_seeds_alone_find_the_hidden_reference(corpus: Corpus, first: FirstStage, rows: list[int]) -> None:
    ranking = first.search([seeded(corpus, row) for row in rows], 20)
    found = [corpus.cites[row][0] in ranking.rows[i] for i, row in enumerate(rows)]
    assert np.mean(found) > 4 * 20 / len(corpus)


@pytest.mark.parametrize("text", [False, True])
def test_a_seed_the_query_and_what_is_later_are_never_recommended(
    corpus: Corpus, first: FirstStage, rows: list[int], text: bool
) -> None:
    queries = [seeded(corpus, row, text=text) for row in rows]
    queries = [replace(query, like=query.like[:-1], dislike=query.like[-1:]) for query in queries]
    ranking = first.search(queries, len(corpus))
    for query, found in zip(queries, ranking.rows, strict=True):
        found = found[found != NO_ROW]
        assert len(found) > 0
        assert not {query.paper, *query.like, *query.dislike} & set(found.tolist())
        assert (corpus.years[found] <= (query.year or 0)).all()


@pytest.mark.parametrize("text", [False, True])
def test_pools_without_limits_give_what_all_papers_give(
    corpus: Corpus, first: FirstStage, rows: list[int], text: bool
) -> None:
    queries = [seeded(corpus, row, text=text) for row in rows[:6]]
    pooled = FirstStage(first.index, dense=False, limits=UNLIMITED_POOL)
    a, b = (stage.retrieve(queries, Options(depth=40)) for stage in (first, pooled))
    np.testing.assert_allclose(a.ranking.scores, b.ranking.scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(a.signals[SIGNAL], b.signals[SIGNAL], rtol=1e-4, atol=1e-4)


def test_a_query_without_seeds_is_answered_as_before_beside_one_with_seeds(
    corpus: Corpus, first: FirstStage, rows: list[int]
) -> None:
    plain = replace(seeded(corpus, rows[0], text=True), like=())
    mixed = first.retrieve([seeded(corpus, rows[1], text=True), plain, seeded(corpus, rows[2])])
    alone = first.retrieve([plain])
    np.testing.assert_array_equal(mixed.ranking.rows[1], alone.ranking.rows[0])
    assert SIGNAL not in alone.signals
    assert np.isnan(mixed.signals[SIGNAL][1]).all()
    found = mixed.ranking.rows[2] != NO_ROW
    assert (mixed.signals[SIGNAL][2][found] > 0).all()


def test_a_learned_stage_reads_the_score_by_the_text(
    corpus: Corpus, first: FirstStage, rows: list[int]
) -> None:
    query = seeded(corpus, rows[0], text=True)
    with_them = first.retrieve([query], Options(depth=30))
    text = replace(query, like=(), exclude=query.like)
    scores = dict(zip(*(first.search([text], 600).rows[0], first.search([text], 600).scores[0]), strict=True))
    expected = [scores[row] for row in with_them.ranking.rows[0][:30]]
    np.testing.assert_allclose(with_them.signals["first-stage"][0], expected, rtol=1e-3, atol=1e-4)


def test_a_dislike_lowers_what_is_close_to_it(corpus: Corpus, first: FirstStage, rows: list[int]) -> None:
    query = seeded(corpus, rows[0], text=True)
    disliked = int(first.search([query], 1).rows[0, 0])
    query = replace(query, dislike=(disliked,))
    with_it, without = (SeedScores(first.signals, dislikes=weight).of([query]) for weight in (0.25, 0.0))
    assert with_it is not None
    assert without is not None
    lowered = with_it.dense() - without.dense()
    assert (lowered <= 0).all()
    assert lowered.min() == pytest.approx(-0.25)
    likes = without.dense()
    linked = [row for row in first.index.history.cites[disliked].tolist() if row not in query.like]
    assert (lowered[0, linked] < 0).all()
    assert likes.max() == pytest.approx(1)


def test_later_papers_say_nothing(corpus: Corpus, whole: Index, first: FirstStage, last_year: int) -> None:
    likes = tuple(np.argsort(-first.index.history.in_citations)[:3].tolist())
    query = Query("q", year=last_year, like=likes, candidates_until=last_year)
    known, rewound = (SeedScores(FirstStage(index).signals).of([query]) for index in (whole, first.index))
    assert known is not None
    assert rewound is not None
    assert known.papers.tolist() != []
    # Counts of citations, which weigh seeds and candidates, are those of the index.
    assert set(known.papers.tolist()) == set(rewound.papers.tolist())


def test_vectors_speak_for_papers_near_the_seeds(corpus: Corpus) -> None:
    index = Index.build(corpus, History.until(corpus, 1), encoders=[Topics()])  # no link is known
    near = SeedScores(FirstStage(index, [Topics()]).signals).of([Query("q", like=(300,))])
    plain = SeedScores(FirstStage(index).signals).of([Query("q", like=(300,))])
    assert near is not None
    assert plain is not None
    gained = near.dense()[0] - plain.dense()[0]
    assert gained[[299, 301]].mean() > gained[:100].mean()


def test_a_learned_order_gets_the_seeds_added() -> None:
    ranking = Ranking(np.array([[5, 6, 7]], np.int32), np.array([[3.0, 2.0, 1.0]], np.float32))
    learned = np.array([[-4.0, -8.0, 0.0]], np.float32)
    candidates = Candidates(ranking, {SIGNAL: np.array([[0.0, 1.0, -0.5]], np.float32)})
    stages = Stages({"fusion": learned}, learned, {"global": "fusion"})
    found = with_seeds([Query("q", title="Parsing", like=(1,))], candidates, stages)
    np.testing.assert_allclose(found.last, [[0.5, SEEDS["global"], 1 - 0.5 * SEEDS["global"]]])
    assert list(found.scores) == [SIGNAL, "fusion"]
    assert with_seeds([Query("q", title="Parsing")], Candidates(ranking), stages) is stages


def test_papers_that_no_seed_speaks_for_are_left_out_where_there_is_no_text() -> None:
    blend = np.zeros((1, 3), np.float32)
    add_seeds(blend, np.array([[0.0, 0.5, -0.1]], np.float32), [Query("q", like=(9,))])
    np.testing.assert_allclose(blend, [[-np.inf, 0.5 * SEEDS["seeds"], -np.inf]])


def test_the_seeds_weigh_less_beside_a_context() -> None:
    for query in (Query("q", title="Parsing", like=(9,)), Query("q", context="Trees TARGETCIT", like=(9,))):
        blend = np.array([[4.0, 0.0]], np.float32)
        scale = add_seeds(blend, np.array([[0.0, 1.0]], np.float32), [query])
        np.testing.assert_allclose(scale, [[4 * SEEDS[query.kind]]])
    assert SEEDS["local"] < SEEDS["global"]


def test_reasons_name_the_seeds(corpus: Corpus, first: FirstStage, rows: list[int]) -> None:
    recommender = Recommender(first, SecondStage(first.index))
    ids = corpus.ids(corpus.cites[rows[0]])
    papers = recommender.recommend(recommender.query(like=ids), Options(top_k=5))
    assert len(papers) == 5
    assert any(paper.evidence.seeds for paper in papers)
    assert all({seed.id for seed in paper.evidence.seeds} <= set(ids) for paper in papers)
    assert any(paper.evidence.shared_words for paper in papers)
    assert papers[0].confidence is None


def test_a_list_by_seeds_alone_is_not_said_to_lack_words(
    corpus: Corpus, first: FirstStage, rows: list[int]
) -> None:
    recommender = Recommender(first, SecondStage(first.index))
    assert "no words" not in recommender.recommend(seeded(corpus, rows[0])).note
    assert "no words" in recommender.recommend(Query("q", context="[CIT]")).note

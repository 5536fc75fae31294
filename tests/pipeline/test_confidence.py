"""Probabilities of recommendations: for which requests there are any, and that they stay with their papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError
from cocite.pipeline import components
from cocite.pipeline.confidence import list_note
from cocite.pipeline.options import Candidates, Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.stepwise_ranking import StepwiseRanking
from cocite.protocols import Query
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.index import Index
from cocite.systems.confidence.calibration import Calibration, Confidence

QUERY = Query("q", title="Attention-based machine translation", year=2016)
GAP = Query("g", context="as neural translation showed [CIT]", year=2016)


@pytest.fixture(scope="module")
def index() -> Index:
    return Index.build(starter_corpus(), History.all(starter_corpus()))


def calibration(**changes: Any) -> Calibration:
    return Calibration.parse(
        {
            "weights": (1.0, 0.0),
            "points": (0.0, 6.0),
            "probabilities": (0.05, 0.95),
            "ranks": 10,
            "depth": 300,
            **changes,
        }
    )


def add_confidence(folder: Path, index: Index, *kinds: str, **changes: Any) -> Path:
    """A model folder with calibrations of the first stage alone."""
    of_stage = {"first-stage": calibration(**changes)}
    meta = {"members": components.upstream_fingerprints(folder, index, "confidence")}
    Confidence(calibrations=dict.fromkeys(kinds, of_stage)).save(folder / "confidence", meta)
    return folder


def test_each_kind_has_its_own_and_papers_beyond_the_calibrated_ranks_have_none(
    index: Index, tmp_path: Path
) -> None:
    recommender = Recommender.over(add_confidence(tmp_path / "m", index, "global"), index)
    found, of_gap = recommender.recommend_all([QUERY, GAP], Options(top_k=15))
    values = [paper.confidence for paper in found]
    assert None not in values[:10]
    assert values[:10] == sorted(values[:10], reverse=True)
    assert values[10:] == [None] * 5
    assert {paper.confidence for paper in of_gap} == {None}
    expected = np.interp([paper.score for paper in found[:10]], (0, 6), (0.05, 0.95))
    np.testing.assert_allclose(values[:10], expected, rtol=1e-6)


def test_probabilities_do_not_depend_on_the_page_the_batch_or_the_order_on_request(
    index: Index, tmp_path: Path
) -> None:
    recommender = Recommender.over(add_confidence(tmp_path / "m", index, "global", "local"), index)
    plain = {paper.id: paper.confidence for paper in recommender.recommend(QUERY, Options(top_k=10))}
    pages = [recommender.recommend(QUERY, Options(top_k=5, offset=first)) for first in (0, 5)]
    assert {paper.id: paper.confidence for page in pages for paper in page} == plain
    batch = recommender.recommend_all([GAP, QUERY], Options(top_k=10))[1]
    assert {paper.id: paper.confidence for paper in batch} == plain
    damped = recommender.recommend(QUERY, Options(top_k=10, popularity=0.8, diversity=0.3))
    known = [paper for paper in damped if paper.id in plain]
    assert known
    assert all(paper.confidence == plain[paper.id] for paper in known)
    options = Options(top_k=10, candidates="older")
    second = recommender.second
    stepwise = StepwiseRanking(second, QUERY, recommender.first.retrieve([QUERY], options), options)
    assert {paper.id: paper.confidence for paper in stepwise.recommendations()} == plain


@pytest.mark.parametrize(
    "change",
    [
        {"retrievers": ("whole>text",)},
        {"weights": (("whole>text", 2.0),)},
        {"only": (1, 2, 3)},
        {"depth": 99},
        {"depth": 601},
        {"year_from": 2000},
        {"year_to": 2015},
    ],
    ids=str,
)
def test_requests_unlike_the_calibrated_ones_get_none(
    index: Index, tmp_path: Path, change: dict[str, Any]
) -> None:
    recommender = Recommender.over(add_confidence(tmp_path / "m", index, "global"), index)
    assert recommender.recommend(QUERY, Options(depth=100))[0].confidence is not None
    found = recommender.recommend(QUERY, Options(**change))
    assert found
    assert {paper.confidence for paper in found} == {None}


def test_candidates_of_a_broken_index_get_none(index: Index, tmp_path: Path) -> None:
    recommender = Recommender.over(add_confidence(tmp_path / "m", index, "global"), index)
    whole = recommender.first.retrieve([QUERY], Options())
    parts = Candidates(
        whole.ranking, whole.signals, whole.sentence_voters, whole.neighbour_voters, missing_shards=(1,)
    )
    assert recommender.second.rerank([QUERY], whole)[0][0].confidence is not None
    assert recommender.second.rerank([QUERY], parts)[0][0].confidence is None


def test_a_text_unlike_the_corpus_gets_none_and_the_one_beside_it_keeps_its_own(
    index: Index, tmp_path: Path
) -> None:
    recommender = Recommender.over(add_confidence(tmp_path / "m", index, "global"), index)
    candidates = recommender.first.retrieve([QUERY, QUERY], Options())
    candidates.unlike = (True, False)
    first, second = recommender.second.rerank([QUERY, QUERY], candidates)
    assert {paper.confidence for paper in first} == {None}
    assert None not in [paper.confidence for paper in second[:10]]


def test_a_cross_encoder_must_have_read_as_many_as_were_calibrated(index: Index) -> None:
    class Newest:
        """Stands for a cross-encoder."""

        name = "newest"

        def score(self, queries: Any, candidates: Any) -> Any:
            return index.corpus.years[candidates.rows].astype(np.float32)

    confidence = Confidence(calibrations={"global": {"final": calibration(rerank=8, points=(-3.0, 3.0))}})
    second = SecondStage(index, cross_encoder=Newest(), confidence=confidence)
    recommender = Recommender(Recommender.over(None, index).first, second)
    found = recommender.recommend(QUERY, Options(rerank=8, top_k=12))
    assert [paper.confidence is not None for paper in found] == [True] * 8 + [False] * 4
    for wrong in ({"rerank": 7}, {"rerank": 0}, {"rerank": 8, "cross_weight": 0.9}):
        others = recommender.recommend(QUERY, Options(top_k=12, **wrong))
        assert {paper.confidence for paper in others} == {None}
    few = recommender.recommend(QUERY, Options(rerank=8, top_k=12, only=(1, 2)))
    assert {paper.confidence for paper in few} == {None}


def test_another_blend_or_index_than_the_calibrated_one_is_refused(index: Index, tmp_path: Path) -> None:
    from helpers.model_folders import add_blend

    model = add_confidence(tmp_path / "m", index, "global")
    history = History.all(starter_corpus())
    other = Index.build(starter_corpus(), history, bm25=Bm25Fields.parse({"text": {"k1": 0.9}}))
    with pytest.raises(InputError, match=r"this calibration was trained over an index whose BM25"):
        Recommender.over(model, other)
    add_blend(model)
    with pytest.raises(
        InputError, match=r"calibration was trained without blend.*\n?.*train confidence again"
    ):
        Recommender.over(model, index)


def test_a_list_is_noted_where_no_paper_of_it_is_probable(index: Index, tmp_path: Path) -> None:
    likely = Recommender.over(add_confidence(tmp_path / "a", index, "global"), index).recommend(QUERY)
    assert list_note(likely) == ""
    low = add_confidence(tmp_path / "b", index, "global", probabilities=(0.0, 0.09))
    unlikely = Recommender.over(low, index).recommend(QUERY)
    assert list_note(unlikely) == "nothing here fits: no paper reaches 10 %"
    assert list_note(Recommender.over(None, index).recommend(QUERY)) == ""

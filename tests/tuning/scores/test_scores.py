"""A trial over cached scores must say what the pipeline itself says, measured anew."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.artifacts import seal
from cocite.errors import ConfigError, InputError, NotFoundError
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.evaluation.metrics import means
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Ranking
from cocite.retrieval.dense_search import keep_positive
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite.systems.learned_fusion.examples import relevance_labels
from cocite.systems.learned_fusion.recipe import FusionSettings
from cocite.systems.learned_fusion.task import train_trees
from cocite_tuning.studies.blend import BlendStudy
from cocite_tuning.studies.bm25 import Bm25Study
from cocite_tuning.studies.depths import DepthsStudy
from cocite_tuning.studies.neighbours import NeighboursStudy
from cocite_tuning.studies.score_study import DevQueries, ScoreStudy
from cocite_tuning.studies.settings import (
    Bm25StudySettings,
    DepthsStudySettings,
    FusionStudySettings,
    NeighboursStudySettings,
    TreesStudySettings,
)


def quiet(metrics: Mapping[str, float], step: int) -> None:
    """A report that nobody hears."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scores")


@pytest.fixture(scope="module")
def bm25(store: Path, shared: Path) -> Bm25Study:
    study = Bm25StudySettings(queries=80, pool=100).open(store, shared)
    study.prepare()
    return study


@pytest.fixture(scope="module")
def blend(store: Path, model: Path, shared: Path) -> BlendStudy:
    study = FusionStudySettings(queries=60, model=model, pool=100).open(store, shared)
    study.prepare()
    return study


@pytest.fixture(scope="module")
def depths(store: Path, model: Path, shared: Path) -> DepthsStudy:
    settings = DepthsStudySettings(queries=40, model=model, depths=(5, 20, 40), reranks=(0, 4, 8), timed=2)
    study = settings.open(store, shared)
    study.prepare()
    return study


@pytest.fixture(scope="module")
def neighbours(store: Path, model: Path, shared: Path) -> NeighboursStudy:
    settings = NeighboursStudySettings(queries=40, model=model, neighbours=(1, 5, 20), timed=2)
    study = settings.open(store, shared)
    study.prepare()
    return study


def dev_of(study: ScoreStudy[Any], **more: bool) -> DevQueries:
    return DevQueries(study.settings, study.corpus, **more)


def same_to(depth: int, ours: Hits, theirs: Hits) -> float:
    """Share of cited papers that stand at the same rank, wherever it is not beyond a depth."""
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    a, b = (np.where(hits.ranks <= depth, hits.ranks, UNRANKED) for hits in (ours, theirs))
    return float((a == b).mean())


def halves(study: ScoreStudy[Any], ranking: Ranking, dev: DevQueries) -> tuple[Hits, Hits]:
    """The hits of the trials' queries, and of those held out."""
    hits = Hits.of(ranking, dev.task.relevant)
    first = np.arange(len(dev.task)) < study.tuning
    return hits.queries(first), hits.queries(~first)


# -- each study against the pipeline ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [{}, {"k1": 0.4, "b": 0.1}, {"k1": 2.5, "b": 0.9, "form": "context"}, {"field": "title", "k1": 0.9}],
)
def test_bm25_is_what_a_new_index_scores(bm25: Bm25Study, params: dict[str, Any]) -> None:
    dev = dev_of(bm25)
    field, form = params.get("field", "text"), QueryForm(params.get("form", "context+title"))
    fresh = Bm25Index.build(
        paper_texts(dev.index.corpus, field), k1=params.get("k1", 1.2), b=params.get("b", 0.75)
    )
    scores = keep_positive(
        dev.index.forbid(fresh.scores(query_texts(dev.task.queries, form)), dev.task.queries)
    )
    for ours, theirs in zip(
        (bm25.hits(params), bm25.hits(params, held_out=True)),
        halves(bm25, Ranking.best(scores, 300), dev),
        strict=True,
    ):
        # A sum in another order may turn two papers of equal score around.
        assert same_to(100, ours, theirs) > 0.98


@pytest.mark.parametrize("params", [{}, {"weights.sentences": 0.0, "weights.whole>text": 3.0}])
def test_the_blend_is_what_the_first_stage_finds(blend: BlendStudy, params: dict[str, float]) -> None:
    dev = dev_of(blend)
    weights = blend.defaults | {name.removeprefix("weights."): value for name, value in params.items()}
    stage = FirstStage(dev.index, dev.encoders, weights={"local": weights, "global": {}})
    for ours, theirs in zip(
        (blend.hits(params), blend.hits(params, held_out=True)),
        halves(blend, stage.search(dev.task.queries, 300), dev),
        strict=True,
    ):
        assert same_to(100, ours, theirs) > 0.98


def test_without_parameters_the_blend_is_the_shipped_one(blend: BlendStudy) -> None:
    dev = dev_of(blend)
    shipped = FirstStage(dev.index, dev.encoders).search(dev.task.queries, 300)
    theirs, _ = halves(blend, shipped, dev)
    assert same_to(100, blend.hits({}), theirs) > 0.98
    assert {"weights.nnselect", "weights.sentence", "weights.sentences"} <= set(blend.keys)
    assert "weights.hatten" not in blend.keys, "the model folder has none"


@pytest.mark.parametrize(
    ("depth", "rerank", "weight"), [(40, 8, 0.5), (40, 0, 0.5), (20, 4, 1.0), (5, 8, 0.2)]
)
def test_depths_are_what_the_recommender_answers(
    depths: DepthsStudy, model: Path, depth: int, rerank: int, weight: float
) -> None:
    dev = dev_of(depths, unseen=True)
    second = SecondStage.load(model, dev.index)
    recommender = Recommender(FirstStage.load(model, dev.index), second)
    ranking = recommender.rank(dev.task.queries, depth, depth=depth, rerank=rerank, cross_weight=weight)
    params = {"depth": depth, "rerank": rerank, "cross_weight": weight}
    theirs, held = halves(depths, ranking, dev)
    assert same_to(depth, depths.hits(params), theirs) == 1
    assert same_to(depth, depths.hits(params, held_out=True), held) == 1


def test_depths_cost_what_was_measured(depths: DepthsStudy, tmp_path: Path) -> None:
    few = depths.run({"depth": 5, "rerank": 0}, quiet, tmp_path)
    many = depths.run({"depth": 40, "rerank": 8}, quiet, tmp_path)
    # What was measured, not which is quicker: on a busy machine the smaller one may well be slower.
    times = json.loads((depths.folder / "times.json").read_text())
    assert few["latency_ms"] == times["first"]["5"] + times["second"]["5"] > 0
    assert many["latency_ms"] == times["first"]["40"] + times["second"]["40"] + times["cross"]["8"] > 0
    assert few["R@K"] <= many["R@K"]
    assert set(few) == {"MRR", "R@10", "R@20", "MAP@10", "latency_ms", "R@K"}


@pytest.mark.parametrize("expansion", [True, False])
@pytest.mark.parametrize("ranked", [True, False])
def test_neighbours_are_what_citeomatic_ranks(
    neighbours: NeighboursStudy, model: Path, expansion: bool, ranked: bool
) -> None:
    dev = dev_of(neighbours)
    nnrank = components.load_nnrank(model, dev.index) if ranked else None
    encoder = next(encoder for encoder in dev.encoders if encoder.name == "nnselect")
    ranker = CiteomaticRanker(dev.index, encoder, nnrank, neighbours=5, expansion=expansion)
    theirs, _ = halves(neighbours, ranker.rank(dev.task.queries, 300), dev)
    params = {"neighbours": 5, "expansion": expansion, "nnrank": ranked}
    assert same_to(300, neighbours.hits(params), theirs) > 0.98
    assert neighbours.run(params, quiet, Path())["latency_ms"] > 0


def test_trees_are_those_of_the_learned_fusion(store: Path, shared: Path) -> None:
    study = TreesStudySettings(queries=80, depth=40).open(store, shared)
    study.prepare()
    assert not study.light
    curve: dict[int, dict[str, float]] = {}
    params = {"trees": 60, "leaves": 5, "least_in_leaf": 10, "learning_rate": 0.1}
    metrics = study.run(params, lambda values, step: curve.__setitem__(step, values), Path())
    assert list(curve) == [25, 50]
    assert all(set(values) == {"MRR", "R@10", "R@20", "MAP@10"} for values in curve.values())
    # The same by the library's own hand.
    dev = dev_of(study)
    stage = FirstStage(dev.index)
    learned, measured = study._shares
    assert not set(study._array("papers")[learned]) & set(study._array("papers")[measured])
    candidates = stage.retrieve(dev.task.queries, stage_options(40))
    signals = candidates.signals
    part = dev.task.take(learned)
    known = {name: values[learned] for name, values in signals.items()}
    ranking = Ranking(candidates.ranking.rows[learned], known["first-stage"])
    relevant = relevance_labels(ranking, part.relevant.indptr, part.relevant.indices)
    fusion = train_trees(known, relevant, FusionSettings.parse({"threads": 1, **params}))
    scores = fusion.scores({name: values[measured] for name, values in signals.items()})
    order = Ranking(candidates.ranking.rows[measured], scores).rescored(scores)
    expected = means(Hits.of(order, dev.task.take(measured).relevant), study.metrics)
    assert metrics == pytest.approx(expected, abs=1e-6)
    assert study.confirm(params, "MRR").queries == len(study.cited) - study.tuning


def stage_options(depth: int) -> Any:
    from cocite.pipeline.options import Options

    return Options(depth=depth, evidence=False)


# -- what all studies share ------------------------------------------------------------------------------------


def test_the_scores_are_made_once_and_travel_on_disk(bm25: Bm25Study, store: Path, shared: Path) -> None:
    before = (bm25.folder / "manifest.json").stat().st_mtime_ns
    again = Bm25StudySettings(queries=80, pool=100).open(store, shared)
    again.prepare()
    assert (again.folder / "manifest.json").stat().st_mtime_ns == before
    assert Bm25StudySettings(queries=81, pool=100).open(store, shared).folder != again.folder
    there = pickle.loads(pickle.dumps(bm25))  # noqa: S301  (as a worker gets it)
    assert "_parts" not in there.__dict__
    assert there.run({"k1": 0.7}, quiet, Path()) == bm25.run({"k1": 0.7}, quiet, Path())


def test_held_out_manuscripts_are_apart(bm25: Bm25Study) -> None:
    dev = dev_of(bm25)
    papers = np.array([query.paper for query in dev.task.queries])
    assert not set(papers[: dev.tuning]) & set(papers[dev.tuning :])
    comparison = bm25.confirm({"k1": 0.0, "b": 0.0}, "MRR")
    assert comparison.queries == len(papers) - dev.tuning
    assert bm25.confirm({}, "MRR").p == 1


def test_a_wrong_parameter_is_told(bm25: Bm25Study, store: Path, shared: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'k2' \(did you mean 'k1'"):
        bm25.run({"k2": 1}, quiet, Path())
    with pytest.raises(ConfigError, match=r"b: input should be less than or equal to 1, got 1\.5"):
        bm25.run({"b": 1.5}, quiet, Path())
    with pytest.raises(ConfigError, match="form: input should be 'context"):
        bm25.run({"form": "abstract"}, quiet, Path())
    with pytest.raises(ConfigError, match="R@500 looks deeper than the 100 papers"):
        Bm25StudySettings(pool=100, metrics=("R@500",)).open(store, shared)
    with pytest.raises(NotFoundError, match="prepare first"):
        Bm25StudySettings(queries=7).open(store, shared).run({}, quiet, Path())


def test_a_fusion_that_saw_all_dev_queries_is_refused(
    store: Path, model: Path, shared: Path, tmp_path: Path
) -> None:
    import json
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(model / "fusion", folder / "fusion")
    manifest = json.loads((folder / "fusion" / "manifest.json").read_text())
    manifest["meta"]["recipe"]["reserve"] = 0.0
    seal(folder / "fusion", kind=manifest["kind"], meta=manifest["meta"])
    with pytest.raises(InputError, match=r"trained on all dev queries.*reserve=0\.3"):
        DepthsStudySettings(model=folder).open(store, shared).prepare()

"""The study of the numbers of candidates: its trials rank as the recommender does, at the measured latency."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from helpers.study_hits import dev_of, hits_of, ignore_metrics, same_to
from helpers.usage_commands import parsed_usage

from cocite.artifacts import seal
from cocite.errors import InputError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite_tuning.studies.depths import DepthsStudy
from cocite_tuning.studies.depths_settings import DepthsStudySettings


@pytest.fixture(scope="module")
def depths(store: Path, model: Path, shared: Path) -> DepthsStudy:
    settings = DepthsStudySettings(queries=40, model=model, depths=(5, 20, 40), reranks=(0, 4, 8), timed=2)
    study = DepthsStudy(settings, store, shared)
    study.prepare()
    return study


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
    theirs, held = hits_of(depths, ranking, dev)
    assert same_to(depth, depths.hits(params), theirs) == 1
    assert same_to(depth, depths.hits(params, held_out=True), held) == 1


def test_depths_cost_what_was_measured(depths: DepthsStudy, tmp_path: Path) -> None:
    few = depths.run({"depth": 5, "rerank": 0}, ignore_metrics, tmp_path)
    many = depths.run({"depth": 40, "rerank": 8}, ignore_metrics, tmp_path)
    # What was measured, not which is quicker: on a busy machine the smaller one may well be slower.
    times = json.loads((depths.folder / "times.json").read_text())
    assert few["latency_ms"] == times["first"]["5"] + times["second"]["5"] > 0
    assert many["latency_ms"] == times["first"]["40"] + times["second"]["40"] + times["cross"]["8"] > 0
    assert few["R@K"] <= many["R@K"]
    assert set(few) == {"MRR", "R@10", "R@20", "MAP@10", "latency_ms", "R@K"}


def test_a_fusion_that_saw_all_dev_queries_is_refused(
    store: Path, model: Path, shared: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model / "fusion", folder / "fusion")
    manifest = json.loads((folder / "fusion" / "manifest.json").read_text())
    manifest["meta"]["recipe"]["reserve"] = 0.0
    seal(folder / "fusion", kind=manifest["kind"], meta=manifest["meta"])
    with pytest.raises(InputError, match=r"trained on all dev queries.*reserve=0\.3"):
        DepthsStudy(DepthsStudySettings(model=folder), store, shared).prepare()


def test_the_endpoints_settings_are_those_of_the_trial(store: Path, model: Path, tmp_path: Path) -> None:
    settings = DepthsStudySettings(model=model, depths=(5, 20), reranks=(0, 4))
    depths = DepthsStudy(settings, store, tmp_path / "shared")
    [serve], _ = parsed_usage(depths, {"depth": 20, "rerank": 4, "cross_weight": 0.25}, store, tmp_path)
    served = serve["settings"]
    assert (served.depth, served.rerank, served.cross_weight) == (20, 4, 0.25)
    without = DepthsStudySettings(model=model, without=("cross-encoder",))
    [serve], notes = parsed_usage(
        DepthsStudy(without, store, tmp_path / "shared"), {"depth": 20}, store, tmp_path
    )
    assert (serve["settings"].depth, serve["settings"].rerank) == (20, 0)
    assert notes == "index stands for your index folder of this corpus."


def test_only_parameters_whose_parts_are_there_can_be_tuned(store: Path, model: Path, shared: Path) -> None:
    assert list(DepthsStudy(DepthsStudySettings(), store, shared).parameter_types) == ["depth"]
    with_model = DepthsStudy(DepthsStudySettings(model=model), store, shared)
    assert list(with_model.parameter_types) == ["depth", "rerank", "cross_weight"]
    never_read = DepthsStudy(DepthsStudySettings(model=model, reranks=(0,)), store, shared)
    assert list(never_read.parameter_types) == ["depth"]

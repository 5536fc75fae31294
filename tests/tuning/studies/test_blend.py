"""The study of the blend: its trials rank as the first stage does, and its artifact is used as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.study_hits import dev_of, hits_of, ignore_metrics, same_to
from helpers.usage_commands import parsed, parsed_usage, run_command, run_sweep_command

from cocite.errors import InputError
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.manifests import read_manifest
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import LOCAL_WEIGHTS
from cocite_tuning.studies.blend import BlendStudy, weighed_signals
from cocite_tuning.studies.blend_settings import FusionStudySettings
from cocite_tuning.studies.dev_queries import DevQueries


@pytest.fixture(scope="module")
def blend(store: Path, model: Path, shared: Path) -> BlendStudy:
    study = BlendStudy(FusionStudySettings(queries=60, model=model, pool=100), store, shared)
    study.prepare()
    return study


@pytest.mark.parametrize("params", [{}, {"weights.sentences": 0.0, "weights.whole>text": 3.0}])
def test_the_blend_is_what_the_first_stage_finds(blend: BlendStudy, params: dict[str, float]) -> None:
    dev = dev_of(blend)
    weights = blend.defaults | {name.removeprefix("weights."): value for name, value in params.items()}
    stage = FirstStage(dev.index, dev.encoders, weights={"local": weights, "global": {}})
    for ours, theirs in zip(
        (blend.hits(params), blend.hits(params, held_out=True)),
        hits_of(blend, stage.search(dev.task.queries, 300), dev),
        strict=True,
    ):
        assert same_to(100, ours, theirs) > 0.98


def test_without_parameters_the_blend_is_the_shipped_one(blend: BlendStudy) -> None:
    dev = dev_of(blend)
    shipped = FirstStage(dev.index, dev.encoders).search(dev.task.queries, 300)
    theirs, _ = hits_of(blend, shipped, dev)
    assert same_to(100, blend.hits({}), theirs) > 0.98
    assert {"weights.nnselect", "weights.sentence", "weights.sentences"} <= set(blend.parameter_types)
    assert "weights.hatten" not in blend.parameter_types, "the model folder has none"


def test_where_the_default_is_the_best_there_is_nothing_to_use(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"kind": "fusion", "queries": 30, "pool": 100, "signals": ["whole>text", "sentences"]}
    answer = run_sweep_command(
        *(capsys, store),
        study=settings,
        start=[{}],
        space={"weights": {"sentences": {"uniform": [0, 1]}}},
        metric={"name": "MRR"},
        budget={"trials": 1},
    )
    assert answer["use"]["commands"] == []
    assert "there is nothing to change" in answer["use"]["notes"][0]
    assert answer["confirmation"] is None
    assert not Path("found/best").exists()


def test_a_blend_is_used_in_its_model_folder(
    store: Path,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "mine")
    settings = {"kind": "fusion", "queries": 60, "pool": 100, "model": "mine"}
    space = {"weights": {"sentences": {"uniform": [0, 0.1]}, "whole>text": {"uniform": [2, 3]}}}
    answer = run_sweep_command(
        capsys, store, study=settings, space=space, metric={"name": "MRR"}, budget={"trials": 2}
    )
    params, commands = answer["best"]["params"], answer["use"]["commands"]
    copy, *again, serve = commands
    study = BlendStudy(FusionStudySettings.parse(settings), store, Path("found/shared"))
    dev = DevQueries(study.settings, store)
    assert set(read_manifest(Path("found/best/blend")).files) == {"weights.json"}
    figures = study.run(params, ignore_metrics, tmp_path)
    tuned = study.hits(params)
    run_command(capsys, copy)
    stage = FirstStage.load(Path("mine"), dev.index)
    ranking = stage.search(dev.task.queries, 300)
    hits = Hits.of(ranking, dev.task.relevant).queries(np.arange(len(dev.task)) < len(tuned.indptr) - 1)
    assert means(hits, ("MRR",))["MRR"] == pytest.approx(figures["MRR"], abs=1e-3)
    assert answer["best"]["metrics"]["MRR"] == pytest.approx(figures["MRR"])
    same = np.where(tuned.ranks <= 100, tuned.ranks, 0) == np.where(hits.ranks <= 100, hits.ranks, 0)
    assert same.mean() > 0.98
    # The fusion was trained on other candidates: it is refused, and the second command trains it again.
    with pytest.raises(InputError, match="trained without blend, which is there now"):
        SecondStage.load(Path("mine"), dev.index)
    assert len(again) == 1
    recipe = read_manifest(Path("mine/fusion")).meta["recipe"]
    run_command(capsys, again[0], "--no-track")
    assert read_manifest(Path("mine/fusion")).meta["recipe"] == recipe
    SecondStage.load(Path("mine"), dev.index)
    assert parsed(serve)["settings"].model is not None
    # The next sweep with this folder begins where it is now.
    later = BlendStudy(FusionStudySettings.parse(settings), store, tmp_path / "later")
    assert later.defaults == study.defaults | {k.removeprefix("weights."): v for k, v in params.items()}


def test_a_blend_that_needs_no_model_is_a_model_folder(store: Path, tmp_path: Path) -> None:
    study = BlendStudy(FusionStudySettings(queries=40, pool=100), store, tmp_path / "shared")
    params = {"weights.sentences": 3.0}
    study.export(params, tmp_path / "best")
    usage = study.usage(params, str(store), tmp_path / "best")
    [serve] = usage.commands
    assert str(parsed(serve)["settings"].model) == str(tmp_path / "best")
    dev = DevQueries(study.settings, store)
    stage = FirstStage.load(tmp_path / "best", dev.index)
    assert stage.weights["local"] == {
        name: params.get(f"weights.{name}", LOCAL_WEIGHTS[name]) for name in study.names
    }


def test_signals_of_absent_encoders_are_not_weighed() -> None:
    assert "nnselect" in weighed_signals(["nnselect"], "local")
    assert "nnselect" not in weighed_signals([], "local")
    assert set(weighed_signals([], "local")) == {
        n for n in LOCAL_WEIGHTS if n in weighed_signals([], "local")
    }
    for task in ("local", "global"):
        assert set(weighed_signals([], task)) < set(weighed_signals(["nnselect", "sentence", "hatten"], task))


def test_encoders_that_were_left_out_are_named(store: Path, model: Path, tmp_path: Path) -> None:
    settings = FusionStudySettings(model=model, without=("sentence",))
    _, notes = parsed_usage(BlendStudy(settings, store, tmp_path / "shared"), {}, store, tmp_path)
    assert "The weights were found without sentence" in notes

"""The study of the learned fusion's trees: its trials train as the learned fusion does."""

from __future__ import annotations

import shutil
from copy import copy
from pathlib import Path

import pytest
from helpers.study_hits import dev_of, ignore_metrics
from helpers.usage_commands import parsed_usage

from cocite.errors import InputError
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import means
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import Ranking
from cocite.systems.learned_fusion.examples import relevance_labels
from cocite.systems.learned_fusion.recipe import FusionSettings
from cocite.systems.learned_fusion.task import train_trees
from cocite_tuning.studies.trees import TUNED, TreesStudy
from cocite_tuning.studies.trees_settings import TreesStudySettings


def test_trees_are_those_of_the_learned_fusion(store: Path, shared: Path) -> None:
    study = TreesStudy(TreesStudySettings(queries=80, depth=40), store, shared)
    study.prepare()
    assert not study.in_process
    curve: dict[int, dict[str, float]] = {}
    params = {"trees": 60, "leaves": 5, "least_in_leaf": 10, "learning_rate": 0.1}
    metrics = study.run(params, lambda values, step: curve.__setitem__(step, values), Path())
    assert list(curve) == [25, 50]
    assert all(set(values) == {"MRR", "R@10", "R@20", "MAP@10"} for values in curve.values())
    # The same by the library's own functions.
    dev = dev_of(study)
    stage = FirstStage(dev.index)
    trained, measured = study._shares
    assert not set(study._cache.array("citing")[trained]) & set(study._cache.array("citing")[measured])
    candidates = stage.retrieve(dev.task.queries, Options(depth=40, evidence=False))
    signals = candidates.signals
    part = dev.task.take(trained)
    known = {name: values[trained] for name, values in signals.items()}
    ranking = Ranking(candidates.ranking.rows[trained], known["first-stage"])
    relevant = relevance_labels(ranking, part.relevant.indptr, part.relevant.indices)
    fusion = train_trees(known, relevant, FusionSettings.parse({"threads": 1, **params}))
    scores = fusion.scores({name: values[measured] for name, values in signals.items()})
    order = Ranking(candidates.ranking.rows[measured], scores).rescored(scores)
    expected = means(Hits.of(order, dev.task.take(measured).relevant), study.metrics)
    assert metrics == pytest.approx(expected, abs=1e-6)
    assert study.confirm(params, "MRR").queries == len(study.cited) - study.tuning_count


def test_trials_elsewhere_fetch_the_signals_and_need_nothing_else(
    store: Path, remote: str, tmp_path: Path
) -> None:
    """As another machine has it: neither the store nor the folder in which the signals were computed."""
    corpus, params = (
        shutil.copytree(store, tmp_path / "corpus"),
        {"trees": 25, "leaves": 5, "least_in_leaf": 10},
    )
    studies = [TreesStudy(TreesStudySettings(queries=80, depth=40), corpus, tmp_path / n) for n in ("a", "b")]
    for study in studies:
        study.elsewhere = f"{remote}/shared"
        study.prepare()
    expected = studies[0].run(params, ignore_metrics, Path())
    # The second took what the first had uploaded.
    manifests = {(study.folder / "manifest.json").read_bytes() for study in studies}
    assert len(manifests) == 1
    there = copy(studies[0])  # as it travels to a trial
    shutil.rmtree(corpus)
    shutil.rmtree(tmp_path / "a")
    assert there.run(params, ignore_metrics, Path()) == expected


def test_the_command_trains_the_fusion_with_these_trees(store: Path, model: Path, tmp_path: Path) -> None:
    trees = TreesStudy(TreesStudySettings(model=model, depth=40), store, tmp_path / "shared")
    [line], _ = parsed_usage(trees, {"trees": 400, "l2": 1e-05}, store, tmp_path)
    recipe = line["recipe"]
    assert (recipe.trees.trees, recipe.trees.l2, recipe.trees.leaves) == (400, 1e-05, 7)
    assert (recipe.reserve, recipe.local_depth, recipe.queries) == (0.6, 40, 60)
    assert line["to"] == str(model)


def test_seed_and_threads_are_no_parameters(store: Path, shared: Path) -> None:
    study = TreesStudy(TreesStudySettings(), store, shared)
    assert set(study.parameter_types) == set(TUNED) == set(FusionSettings.model_fields) - {"seed", "threads"}


def test_too_few_manuscripts_are_refused(store: Path, shared: Path) -> None:
    study = TreesStudy(TreesStudySettings(queries=80, depth=40, fit=0.999), store, shared)
    study.prepare()
    with pytest.raises(InputError, match="too few manuscripts to learn from some and measure on others"):
        study.run({}, ignore_metrics, Path())

"""What all studies over cached scores share."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from helpers.study_hits import dev_of, ignore_metrics

from cocite.errors import ConfigError, InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite_tuning.studies.bm25 import Bm25Study
from cocite_tuning.studies.bm25_settings import Bm25StudySettings
from cocite_tuning.studies.score_study import literal_of


@pytest.fixture(scope="module")
def bm25(store: Path, shared: Path) -> Bm25Study:
    study = Bm25Study(Bm25StudySettings(queries=80, pool=100), store, shared)
    study.prepare()
    return study


def test_the_scores_are_computed_once_and_opened_again_by_another_process(
    bm25: Bm25Study, store: Path, shared: Path
) -> None:
    before = (bm25.folder / "manifest.json").stat().st_mtime_ns
    again = Bm25Study(Bm25StudySettings(queries=80, pool=100), store, shared)
    again.prepare()
    assert (again.folder / "manifest.json").stat().st_mtime_ns == before
    assert Bm25Study(Bm25StudySettings(queries=81, pool=100), store, shared).folder != again.folder
    there = pickle.loads(pickle.dumps(bm25))  # noqa: S301  (as another process gets it)
    assert "_parts" not in there.__dict__
    assert there.run({"k1": 0.7}, ignore_metrics, Path()) == bm25.run({"k1": 0.7}, ignore_metrics, Path())


def test_held_out_manuscripts_are_apart(bm25: Bm25Study) -> None:
    dev = dev_of(bm25)
    papers = np.array([query.paper for query in dev.task.queries])
    assert not set(papers[: dev.tuning_count]) & set(papers[dev.tuning_count :])
    comparison = bm25.confirm({"k1": 0.0, "b": 0.0}, "MRR")
    assert comparison.queries == len(papers) - dev.tuning_count
    assert comparison.papers == len(set(papers[dev.tuning_count :])), "contexts of one paper are alike"
    assert comparison.papers < comparison.queries
    assert bm25.confirm({}, "MRR").p == 1


def test_a_study_that_was_not_prepared_says_so(store: Path, shared: Path) -> None:
    with pytest.raises(NotFoundError, match="prepare first"):
        Bm25Study(Bm25StudySettings(queries=7), store, shared).run({}, ignore_metrics, Path())


def test_no_metric_looks_deeper_than_the_cache(store: Path, shared: Path) -> None:
    with pytest.raises(ConfigError, match="R@500 looks deeper than the 100 papers"):
        Bm25Study(Bm25StudySettings(pool=100, metrics=("R@500",)), store, shared)
    Bm25Study(Bm25StudySettings(pool=100, metrics=("R@100", "MRR")), store, shared)


def test_the_caches_name_depends_on_what_the_scores_depend_on(store: Path, model: Path, shared: Path) -> None:
    def name(**settings: object) -> str:
        return Bm25Study(Bm25StudySettings.parse({"queries": 80, **settings}), store, shared).folder.name

    assert name().startswith("bm25-")
    assert name(metrics=["MRR"]) == name(), "a metric is computed by each trial"
    others = [name(seed=1), name(held_out=0.2), name(pool=100), name(fields=["text"]), name(model=str(model))]
    assert len({name(), *others}) == 6
    assert name(model=str(model), without=["fusion"]) != name(model=str(model))


def test_the_manifest_has_the_keys_that_earlier_versions_wrote(bm25: Bm25Study) -> None:
    manifest = read_manifest(bm25.folder)
    assert manifest.kind == "bm25-scores"
    assert set(manifest.meta) == {
        "format", "corpus", "members", "kind", "task", "queries", "held_out", "seed", "forms", "fields", "pool",
        "tuning",
    }  # fmt: skip
    assert {"cited.indptr.npy", "cited.indices.npy", "citing.npy"} <= set(manifest.files)


def test_another_choice_than_the_default_may_be_compared_with(bm25: Bm25Study) -> None:
    against_default = bm25.confirm({"k1": 0.5}, "MRR")
    against_other = bm25.confirm({"k1": 0.5}, "MRR", {"k1": 3.0})
    assert against_default.mean == against_other.mean
    assert against_default.other != against_other.other
    with pytest.raises(InputError, match="no metric is called"):
        bm25.confirm({}, "height")


def test_parameters_get_their_types(bm25: Bm25Study) -> None:
    assert bm25.parse_params({"k1": 1, "b": "0.5", "field": "title"}) == {
        "k1": 1.0,
        "b": 0.5,
        "field": "title",
    }
    assert literal_of(("a", "b")).__args__ == ("a", "b")

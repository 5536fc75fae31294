from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cocite.artifacts import publish
from cocite.evaluation.report import Table
from cocite_jobs.reproduction.papers import PAPERS, plan_of
from cocite_jobs.reproduction.plan import SIZES, Exhibit, Plan, Setup, Size, Training


def test_a_training_is_done_when_all_its_artifacts_are_published(tmp_path: Path) -> None:
    training = Training("both", ("model/nnselect", "model/nnrank"), lambda setup, minutes: None)
    with publish(tmp_path / "model/nnselect", kind="nnselect", meta={}):
        pass
    assert not training.is_done(tmp_path)
    with publish(tmp_path / "model/nnrank", kind="nnrank", meta={}):
        assert not training.is_done(tmp_path), "what is being written is no artifact"
    assert training.is_done(tmp_path)


def test_only_what_the_exhibits_need_is_trained_in_the_plans_order() -> None:
    a, b, c = (Training(name, (), lambda setup, minutes: None) for name in "abc")
    first, second = (
        Exhibit(f"table{i}", f"Table {i}: x", lambda setup: Table("", [], []), "", needs)
        for i, needs in ((1, ("c", "a")), (2, ("a",)))
    )
    plan = Plan("p", "", (a, b, c), (first, second), {})
    assert plan.needed((first, second)) == [a, c]
    assert plan.needed((second,)) == [a]
    assert plan.needed(()) == []


def test_an_exhibits_command_is_found_by_its_id() -> None:
    exhibits = [Exhibit(f"table{i}", "x", lambda setup: Table("", [], []), f"cocite {i}") for i in (1, 2)]
    assert Plan("p", "", (), tuple(exhibits), {}).command_of("table2") == "cocite 2"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("paper", PAPERS)
def test_each_plan_is_sound_at_each_size(empty_setup: Setup, paper: str, size: Size) -> None:
    plan = plan_of(paper, replace(empty_setup, size=size))
    assert plan.paper == paper
    names = [training.name for training in plan.trainings]
    assert len(set(names)) == len(names)
    artifacts = [artifact for training in plan.trainings for artifact in training.artifacts]
    assert len(set(artifacts)) == len(artifacts), "two trainings write one folder"
    ids = [exhibit.id for exhibit in plan.exhibits]
    assert len(set(ids)) == len(ids)
    for exhibit in plan.exhibits:
        assert set(exhibit.needs) <= set(names)
        assert exhibit.title.lower().startswith(exhibit.id.rstrip("0123456789"))
        assert exhibit.command.startswith("cocite ")
        assert str(empty_setup.corpus.path) in exhibit.command
    used = {name for exhibit in plan.exhibits for name in exhibit.needs}
    assert used == set(names), "a training that no table needs"
    assert plan.impossible
    assert all(why.endswith(".") for why in plan.impossible.values())


def test_queries_are_drawn_by_the_seed_unless_another_one_is_named(empty_setup: Setup) -> None:
    assert (empty_setup.query_seed, replace(empty_setup, seed=4).query_seed) == (0, 4)
    assert replace(empty_setup, seed=4, sample_seed=2).query_seed == 2


def test_where_a_cluster_is_named_it_trains(empty_setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert empty_setup.launch.on == "process"
    launch = replace(empty_setup, address="ray://head:10001").launch
    assert (launch.on, launch.address) == ("ray", "ray://head:10001")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert (empty_setup.launch.on, empty_setup.launch.address) == ("ray", None)  # Ray reads it
    monkeypatch.setenv("RAY_ADDRESS", "local")
    assert empty_setup.launch.on == "process"

"""Sweep files: those that ship with cocite, overrides, and what identifies a sweep."""

from __future__ import annotations

from typing import Any

import pytest

from cocite.errors import ConfigError, InputError, NotFoundError
from cocite_tuning.sweep.sweep import SWEEPS, ChampionSettings, Sweep, load_sweep, shipped_sweeps

TRAININGS = [name for name in shipped_sweeps() if "kind: training" in (SWEEPS / f"{name}.yaml").read_text()]
TOY: dict[str, Any] = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [0, 1]}},
    "metric": {"name": "height"},
}


def test_there_is_a_sweep_for_each_of_the_papers_hyperparameters() -> None:
    assert {"nnselect", "nnselect-paper", "nnrank", "noise-powers", "hatten-rates"} <= set(TRAININGS)
    assert {"margins-nnselect", "margins-reranker", "margins-hatten"} <= set(TRAININGS)


@pytest.mark.parametrize("name", ["nnselect-paper", "nnrank"])
def test_citeomatics_ranges_are_those_of_table_6(name: str) -> None:
    space = load_sweep(name).space
    assert space["training.optimizer.learning_rate"] == {"choice": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]}
    for key in ("objective.l1", "objective.l2"):
        assert space[key] == {"choice": [0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]}
    assert space["objective.word_dropout"] == {"quniform": [0, 0.75, 0.05]}
    assert space["model.dimension"] == {"quniform": [25, 325, 25]}
    sweep = load_sweep(name)
    assert sweep.budget.trials == 75
    assert sweep.protocol is not None
    assert sweep.protocol.best == 10


def test_overrides_reach_into_dotted_keys() -> None:
    sweep = load_sweep(
        "nnselect", ["protocol.short.training.epochs=1", "study.set.training.seed=7", "budget.trials=3"]
    )
    assert sweep.protocol is not None
    assert sweep.protocol.short["training.epochs"] == 1
    assert sweep.study.model_dump()["set"] == {"training.seed": 7}
    with pytest.raises(NotFoundError, match="no sweep 'nnselct'"):
        load_sweep("nnselct")


@pytest.mark.parametrize("name", shipped_sweeps())
def test_a_sweep_that_ships_has_the_name_of_its_file_and_says_how_it_is_run(name: str) -> None:
    assert load_sweep(name).name == name
    assert f"cocite tune {name} " in (SWEEPS / f"{name}.yaml").read_text()


def test_the_study_is_parsed_by_the_class_of_its_kind() -> None:
    sweep = Sweep.parse(TOY | {"study": {"kind": "bm25", "queries": 50}})
    assert (sweep.kind, type(sweep.study).__name__) == ("bm25", "Bm25StudySettings")
    assert Sweep.parse(sweep.model_dump(mode="json", by_alias=True)) == sweep
    with pytest.raises(ConfigError, match=r"no study is of the kind 'toys' \(did you mean 'toy'"):
        Sweep.parse(TOY | {"study": {"kind": "toys"}})
    with pytest.raises(ConfigError, match="no study is of the kind None"):
        Sweep.parse(TOY | {"study": {}})


@pytest.mark.parametrize(
    "changed",
    [{"budget": {"trials": 3}}, {"resources": {"cpus": 2}}, {"retries": 9}, {"keep": 3},
     {"champion": {"register": "ours", "task": "global", "system": "nnselect", "metric": "MRR"}}],
)  # fmt: skip
def test_what_may_change_when_a_sweep_is_resumed_is_no_part_of_its_identity(changed: dict[str, Any]) -> None:
    assert Sweep.parse(TOY | changed).identity() == Sweep.parse(TOY).identity()


@pytest.mark.parametrize(
    "changed",
    [{"seed": 1}, {"space": {"x": {"uniform": [0, 2]}}}, {"metric": {"name": "loss"}}, {"search": "random"},
     {"study": {"kind": "toy", "steps": 9}}, {"start": []}, {"protocol": {"best": 3}}],
)  # fmt: skip
def test_what_decides_the_trials_is_part_of_the_identity(changed: dict[str, Any]) -> None:
    assert Sweep.parse(TOY | changed).identity() != Sweep.parse(TOY).identity()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [({"system": "nnselct"}, "no system is called 'nnselct'"), ({"metric": "R20"}, "no metric is called")],
)
def test_a_champion_names_a_system_and_a_metric(changed: dict[str, str], sentence: str) -> None:
    good = {"register": "ours", "task": "global", "system": "nnselect", "metric": "R@20"}
    ChampionSettings.parse(good).check()
    with pytest.raises(InputError, match=sentence):
        ChampionSettings.parse(good | changed).check()

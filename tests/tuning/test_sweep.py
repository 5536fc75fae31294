"""Sweep files: what comes with cocite fits its recipes, and what fits none is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.errors import ConfigError, InputError, NotFoundError
from cocite_tuning.run.driver import planned
from cocite_tuning.sweep.sweep import SWEEPS, Sweep, load_sweep, shipped_sweeps

TRAININGS = [name for name in shipped_sweeps() if "kind: training" in (SWEEPS / f"{name}.yaml").read_text()]
NNSELECT = {
    "name": "ours",
    "study": {"kind": "training", "recipe": "nnselect"},
    "space": {"training.optimizer.learning_rate": {"loguniform": [1e-4, 1e-1]}},
    "metric": {"name": "R@20"},
}


def plan(tmp_path: Path, **changed: Any) -> Any:
    return planned(Sweep.parse(NNSELECT | changed), "corpus", tmp_path / "sweep", here=False)


def test_there_is_a_sweep_for_each_of_the_papers_hyperparameters() -> None:
    assert {"nnselect", "nnselect-paper", "nnrank", "noise-powers", "hatten-rates"} <= set(TRAININGS)
    assert {"margins-nnselect", "margins-reranker", "margins-hatten"} <= set(TRAININGS)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_sweep_that_comes_with_cocite_fits_its_recipe(name: str, tmp_path: Path) -> None:
    sweep = load_sweep(name)
    assert sweep.name == name
    assert f"cocite tune {name} " in (SWEEPS / f"{name}.yaml").read_text()  # its header says how it is run
    planned(sweep, "corpus", tmp_path / "sweep", here=False)


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


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"space": {"training.optimizer.lerning_rate": {"uniform": [0, 1]}}},
         "space: unknown key 'training.optimizer.lerning_rate' (did you mean 'training.optimizer.learning_rate'?)"),
        ({"space": {"training": {"epochs": {"uniform": [1, 4]}}}}, "space.training.epochs: "),
        ({"space": {"objective.objective": {"choice": ["paper", "papers"]}}},
         "space.objective.objective: 'papers' is no value of it: input should be 'paper' or 'in_batch'"),
        ({"space": {"model.finetune": {"choice": [{"value": True, "then": {"objective.gama": {"choice": [1]}}}]}}},
         "unknown key 'objective.gama'"),
        ({"space": {"kind": {"choice": ["nnrank"]}}}, "space: unknown key 'kind'"),
        ({"start": [{"training.epoch": 3}]}, "start: unknown key 'training.epoch'"),
        ({"protocol": {"short": {"training.epoch": 3}}}, "protocol.short: unknown key 'training.epoch'"),
        ({"study": {"kind": "training", "recipe": "nnselect", "set": {"training.epoch": 1}}},
         "unknown key 'training.epoch'"),
        ({"study": {"kind": "training", "recipe": "nnselct"}}, "no recipe 'nnselct' (did you mean 'nnselect'?)"),
        ({"study": {"kind": "trainings"}},
         "study.kind: no study is of the kind 'trainings' (did you mean 'training'?)"),
        ({"study": {"kind": "training", "recipe": "nnselect", "sets": {}}},
         "unknown key 'study.sets' (did you mean 'set'?)"),
        ({"study": {"kind": "training", "recipe": "fusion"}, "space": {"trees.leaves": {"choice": [7]}},
          "resources": {"workers": 2}}, "resources.workers: fusion trains on one worker"),
        ({"metrics": {}}, "unknown key 'metrics' (did you mean 'metric'?)"),
        ({"search": "grid"}, "search: input should be 'tpe' or 'random'"),
        ({"scheduler": {"kind": "asha", "grace": 9, "longest": 3}}, "longest is 3, below grace, 9"),
        ({"champion": {"register": "ours", "task": "global", "system": "nnselct", "metric": "R@20"}},
         "champion.system: no system is called 'nnselct'"),
        ({"champion": {"register": "ours", "task": "global", "system": "nnselect", "metric": "R20"}},
         "no metric is called"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        plan(tmp_path, **changed)
    assert sentence in str(refused.value).replace("Input", "input")
    assert not list(tmp_path.iterdir())


def test_parameters_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    study = {"kind": "training", "recipe": "mp-bert4cr-small"}
    with pytest.raises(ConfigError, match="there would be no negatives"):
        plan(
            tmp_path,
            study=study,
            space={"negatives.count": {"choice": [0, 1]}, "negatives.shared": {"choice": [True, False]}},
        )


def test_only_what_trains_has_a_champion(tmp_path: Path) -> None:
    champion = {"register": "toy", "task": "global", "system": "nnselect", "metric": "R@20"}
    with pytest.raises(ConfigError, match="only what trains a model has a champion"):
        plan(tmp_path, study={"kind": "toy"}, space={"x": {"uniform": [0, 1]}}, champion=champion)


def test_light_trials_have_no_scheduler(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"scheduler\.kind: its trials are over"):
        plan(tmp_path, study={"kind": "toy"}, space={"x": {"uniform": [0, 1]}}, scheduler={"kind": "asha"})


def test_overrides_reach_into_dotted_keys(tmp_path: Path) -> None:
    sweep = load_sweep(
        "nnselect", ["protocol.short.training.epochs=1", "study.set.training.seed=7", "budget.trials=3"]
    )
    assert sweep.protocol is not None
    assert sweep.protocol.short["training.epochs"] == 1
    assert sweep.study.model_dump()["set"] == {"training.seed": 7}
    with pytest.raises(NotFoundError, match="no sweep 'nnselct'"):
        load_sweep("nnselct")

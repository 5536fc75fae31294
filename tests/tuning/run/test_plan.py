"""What does not fit is refused before a sweep starts, and sweeps that ship fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cocite.errors import ConfigError, InputError
from cocite_tuning.run.plan import SweepPlan, plan_sweep
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.studies.trees import TreesStudy
from cocite_tuning.sweep.sweep import SWEEPS, Sweep, load_sweep, shipped_sweeps

TRAININGS = [name for name in shipped_sweeps() if "kind: training" in (SWEEPS / f"{name}.yaml").read_text()]
NNSELECT = {
    "name": "ours",
    "study": {"kind": "training", "recipe": "nnselect"},
    "space": {"training.optimizer.learning_rate": {"loguniform": [1e-4, 1e-1]}},
    "metric": {"name": "R@20"},
}


def plan(tmp_path: Path, **changed: Any) -> SweepPlan:
    return plan_sweep(Sweep.parse(NNSELECT | changed), "corpus", tmp_path / "sweep", here=False)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_sweep_that_ships_fits_its_recipe(name: str, tmp_path: Path) -> None:
    plan_sweep(load_sweep(name), "corpus", tmp_path / "sweep", here=False)


def test_a_training_gets_the_corpus_as_it_was_named_and_the_resources(tmp_path: Path) -> None:
    study = plan(tmp_path, resources={"cpus": 3, "gpus": 0.5}).study
    assert isinstance(study, TrainingStudy)
    assert (study.corpus, study.cpus, study.gpus, study.workers) == ("corpus", 3, 0.5, 1)
    assert study.shared == tmp_path / "sweep" / "shared"


def test_trials_over_signals_fetch_them_from_the_sweep_s_uri(tmp_path: Path) -> None:
    trees = {"study": {"kind": "trees"}, "space": {"leaves": {"choice": [5, 7]}}}
    sweep, place = Sweep.parse(NNSELECT | trees), "s3://bucket/sweep?scheme=http"
    for uri, elsewhere in (("", ""), (place, "s3://bucket/sweep/shared?scheme=http")):
        study = plan_sweep(sweep, "corpus", tmp_path / "sweep", here=False, uri=uri).study
        assert isinstance(study, TreesStudy)
        assert study.elsewhere == elsewhere


def test_a_trials_gpus_are_those_of_the_cluster_unless_chosen(tmp_path: Path) -> None:
    cluster, none = [{"CPU": 4.0, "GPU": 1.0}], [{"CPU": 4.0}]
    neural = {"kind": "training", "recipe": "hatten"}
    trees = {"study": {"kind": "training", "recipe": "fusion"}, "space": {"seed": {"choice": [1, 2]}}}
    found = []
    hatten: dict[str, Any] = {"study": neural, "metric": {"name": "MRR"}}
    on_h100 = {"study": neural | {"set": {"workers.accelerator": "H100"}}}
    for changed in (hatten, hatten | {"resources": {"gpus": 0}}, trees, hatten | on_h100):
        study = plan(tmp_path, **changed).study
        assert isinstance(study, TrainingStudy)
        found.append((study.on_cluster(cluster).gpus, study.on_cluster(none).gpus))
    assert found == [(1, 0), (0, 0), (0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"study": {"kind": "training", "recipe": "hatten", "set": {"training.batch": 2}}, "resources": {"workers": 3}},
         "training.batch: a step of 2 examples cannot be shared out to 3 workers"),
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
        ({"metric": {"name": "R@21"}},
         "metric.name: the trials do not measure 'R@21', but P@20, R@20, F1@20, MRR, recall, seconds "
         "(did you mean 'R@20'?)"),
        ({"search": "grid"}, "search: input should be 'tpe' or 'random'"),
        ({"scheduler": {"kind": "asha", "grace": 9, "longest": 3}}, "longest is 3, below grace, 9"),
        ({"champion": {"register": "ours", "task": "global", "system": "nnselct", "metric": "R@20"}},
         "champion.system: no system is called 'nnselct'"),
        ({"champion": {"register": "ours", "task": "global", "system": "nnselect", "metric": "R20"}},
         "no metric is called"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    # The first letter of pydantic's messages may be a capital.
    with pytest.raises(InputError, match=re.escape(sentence).replace("input", "[Ii]nput")):
        plan(tmp_path, **changed)
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


def test_trials_in_the_sweeps_process_have_no_scheduler(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"scheduler\.kind: its trials are over"):
        plan(tmp_path, study={"kind": "toy"}, space={"x": {"uniform": [0, 1]}}, scheduler={"kind": "asha"})


def test_start_and_protocol_are_checked_for_values_too(tmp_path: Path) -> None:
    toy = {"study": {"kind": "toy"}, "space": {"x": {"uniform": [0, 1]}}}
    with pytest.raises(ConfigError, match=r"start\.x: 99 is no value of it"):
        plan(tmp_path, **toy, start=[{"x": 99}])
    with pytest.raises(ConfigError, match=r"protocol\.full\.steps: 'many' is no value of it"):
        plan(tmp_path, **toy, protocol={"full": {"steps": "many"}})


def test_random_draws_find_what_the_extremes_do_not_show(tmp_path: Path) -> None:
    # The mean of a normal is a value of x, but x is at most 10.
    with pytest.raises(ConfigError, match=r"space\.x: .* is no value of it"):
        plan(tmp_path, study={"kind": "toy"}, space={"x": {"normal": [9, 5]}})

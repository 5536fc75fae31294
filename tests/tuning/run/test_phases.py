"""The phases of a sweep, and what the sampler of a resumed one knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.sweeps import run_tracked, run_untracked
from helpers.toy_study import TOY

from cocite.corpus.store import Corpus
from cocite_tuning.run.driver import FinishedSweep

pytestmark = pytest.mark.usefixtures("mlflow_store")

PROTOCOL = {"short": {"steps": 1}, "full": {"steps": 6}, "best": 3}


def run(small: Corpus, to: Path, start: str = "new", **changed: Any) -> FinishedSweep:
    space = {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}}
    return run_tracked(TOY | {"space": space} | changed, small, to, start)


@pytest.mark.integration
def test_short_trials_choose_which_are_run_in_full(small: Corpus, empty: Path) -> None:
    finished = run(small, empty, protocol=PROTOCOL, budget={"trials": 8})
    short = [trial for trial in finished.trials.trials if trial.phase == "short"]
    full = [trial for trial in finished.trials.trials if trial.phase == "full"]
    assert (len(short), len(full)) == (8, 3)
    assert {len(trial.curve) for trial in short} == {1}
    assert {len(trial.curve) for trial in full} == {6}
    best = sorted(short, key=lambda trial: -trial.metrics["height"])[:3]
    assert [trial.params for trial in full] == [trial.params for trial in best]
    assert finished.best.phase == "full"
    again = run(small, empty, "resume", protocol=PROTOCOL, budget={"trials": 8})
    assert again.trials == finished.trials


def test_a_resumed_sweep_keeps_the_full_trials_that_it_has(small: Corpus, empty: Path) -> None:
    settings = TOY | {"protocol": PROTOCOL}
    first = run_untracked(settings | {"budget": {"trials": 6}}, small, empty)
    resumed = run_untracked(settings | {"budget": {"trials": 20}}, small, empty, "resume")

    def full(finished: FinishedSweep) -> list[dict[str, Any]]:
        return [trial.params for trial in finished.trials.trials if trial.phase == "full"]

    assert full(resumed)[:3] == full(first)
    # Those of the now best short trials that were not run in full before are run too.
    short = [trial for trial in resumed.trials.trials if trial.phase == "short"]
    best = sorted(short, key=lambda trial: -trial.metrics["height"])[:3]
    assert all(trial.params in full(resumed) for trial in best)
    assert len(full(resumed)) == len(full(first)) + sum(trial.params not in full(first) for trial in best)


@pytest.mark.parametrize("search", ["tpe", "random"])
def test_a_sweep_in_two_parts_draws_what_one_of_the_same_length_draws(
    small: Corpus, tmp_path: Path, search: str
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    settings = TOY | {"search": search, "budget": {"trials": 26}}  # TPE begins after 20
    run_untracked(settings, small, whole)
    run_untracked(settings | {"budget": {"trials": 23}}, small, parts)
    run_untracked(settings, small, parts, "resume")
    drawn = [
        [trial["params"] for trial in json.loads((folder / "trials.json").read_text())["trials"]]
        for folder in (whole, parts)
    ]
    assert drawn[0] == drawn[1]


def test_no_trial_starts_after_the_minutes_of_the_budget(small: Corpus, empty: Path) -> None:
    settings = TOY | {"study": {"kind": "toy", "steps": 1, "seconds": 0.3}}
    finished = run_untracked(settings | {"budget": {"trials": 50, "minutes": 0.01}}, small, empty)
    assert 1 <= len(finished.trials.trials) < 10

"""Trials as a file, and which of them is the best."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.trials import depth_trials, rate_trials

from cocite.errors import IntegrityError, NotFoundError
from cocite_tuning.sweep.trials import Trial, Trials, read_trials


def test_trials_come_back_as_they_were_written(tmp_path: Path) -> None:
    trials = rate_trials()
    odd = Trial(number=99, params={"x": None, "y": [1, 2]}, metrics={"MRR": math.nan, "loss": math.inf})
    trials = trials.model_copy(update={"trials": (*trials.trials, odd)})
    trials.write(tmp_path / "a" / "trials.json")
    again = Trials.read(tmp_path / "a" / "trials.json")
    assert again.model_dump_json() == trials.model_dump_json()
    assert math.isnan(again.trials[-1].metrics["MRR"])
    assert again.trials[-1].metrics["loss"] == math.inf
    assert read_trials(tmp_path / "a").metric == "MRR"
    with pytest.raises(NotFoundError, match="no such file of trials"):
        Trials.read(tmp_path / "none.json")
    with pytest.raises(NotFoundError, match=r"holds no trials\.json"):
        read_trials(tmp_path)
    with pytest.raises(NotFoundError, match=r"none: holds no trials\.json"):
        read_trials(tmp_path / "none")
    assert read_trials(tmp_path / "a" / "trials.json").metric == "MRR"
    (tmp_path / "bad.json").write_text('{"sweep": "s", "metric": "m", "trials": [{"number": "x"}]}')
    with pytest.raises(IntegrityError, match=r"trials\.0\.number"):
        Trials.read(tmp_path / "bad.json")


def test_the_best_is_finished_and_keeps_within_its_limits() -> None:
    trials = rate_trials()
    best = trials.best()
    assert best.state == "finished"
    assert trials.value(best) == max(trials.value(t) for t in trials.trials if t.state == "finished")
    assert trials.model_copy(update={"mode": "min"}).best().metrics["MRR"] < 0.2
    assert depth_trials().best().params == {"depth": 1000, "rerank": 50}
    assert depth_trials().best(at_most={"latency_ms": 30}).params == {"depth": 100, "rerank": 10}
    with pytest.raises(
        NotFoundError, match=r"no trial keeps latency_ms within 1 .*least that a trial needed is 5\.5"
    ):
        depth_trials().best(at_most={"latency_ms": 1})
    with pytest.raises(NotFoundError, match="no trial finished with the metric 'MRR'"):
        Trials(sweep="s", metric="MRR").best()


def test_among_equals_the_faster_is_the_best() -> None:
    times = (30.0, 20.0, 20.0, 40.0)
    equals = [Trial(number=i, params={}, metrics={"m": 0.5, "latency_ms": ms}) for i, ms in enumerate(times)]
    trials = Trials(sweep="s", metric="m", trials=(*equals, Trial(number=9, params={}, metrics={"m": 0.5})))
    assert [trial.number for trial in trials.ranked] == [1, 2, 0, 3, 9]


def test_once_there_is_a_full_training_short_ones_do_not_count() -> None:
    short = [Trial(number=i, params={"x": i}, metrics={"m": 1.0 + i}, phase="short") for i in range(5)]
    full = [Trial(number=5, params={"x": 1}, metrics={"m": 0.5}, phase="full")]
    trials = Trials(sweep="s", metric="m", trials=(*short, *full))
    assert trials.best().number == 5


def test_the_file_has_the_keys_that_earlier_versions_wrote(tmp_path: Path) -> None:
    trial = Trial(number=3, params={"x": 1.5}, metrics={"m": 0.5}, curve=((1, {"m": 0.25}),), phase="short")
    Trials(sweep="s", metric="m", mode="min", trials=(trial,)).write(tmp_path / "trials.json")
    assert json.loads((tmp_path / "trials.json").read_text()) == {
        "sweep": "s",
        "metric": "m",
        "mode": "min",
        "trials": [
            {
                "number": 3,
                "params": {"x": 1.5},
                "metrics": {"m": 0.5},
                "curve": [[1, {"m": 0.25}]],
                "state": "finished",
                "phase": "short",
                "seconds": 0.0,
                "run_id": "",
                "error": "",
            }
        ],
    }

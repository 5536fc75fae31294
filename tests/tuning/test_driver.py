"""A sweep of light trials from its file to its report, in this process, with its runs in MLflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.sweeps import run_sweep, runs_of

from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite_mlflow.connection import TrackingSettings
from cocite_tuning.run.driver import Manner, planned, tune
from cocite_tuning.run.trial_runner import Listener
from cocite_tuning.run.trials import Trials
from cocite_tuning.sweep.sweep import Sweep

SWEEP = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}},
    "metric": {"name": "height"},
    "budget": {"trials": 12},
}


def sweep(small: Corpus, to: Path, how: str = "new", listener: Listener | None = None, **changed: Any) -> Any:
    return run_sweep(SWEEP | changed, small, to, how, listener)


@pytest.mark.integration
def test_trials_are_run_kept_and_reported(small: Corpus, empty: Path) -> None:
    seen: list[str] = []
    listener = Listener(stage=lambda name, total: seen.append(f"{name} {total}"))
    swept = sweep(small, empty, listener=listener)
    assert seen[:2] == ["preparing 0", "trials 12"]
    trials = Trials.read(empty / "trials.json")
    assert swept.trials == trials
    assert [trial.number for trial in trials.trials] == list(range(12))
    assert trials.trials[0].params == {}  # the thing as it is comes first
    assert all(set(trial.params) == {"x", "size"} for trial in trials.trials[1:])
    assert swept.best.of(trials.best())
    assert swept.best.metrics["height"] == max(trial.metrics["height"] for trial in trials.trials)
    assert [step for step, _ in trials.trials[3].curve] == [1, 2, 3, 4]
    assert "<svg" in swept.report.read_text()
    assert json.loads((empty / "best.json").read_text())["number"] == swept.best.number
    assert swept.model is None
    assert (empty / "shared" / "prepared").read_text() == "once\n"
    runs = runs_of(empty.parent, swept.run_id)
    assert sorted(runs) == [f"trial {number:04d}" for number in range(12)]
    run = runs["trial 0003"]
    assert run.info.status == "FINISHED"
    assert run.data.params.keys() == {"x", "size"}
    assert run.data.metrics["best.height"] == pytest.approx(trials.trials[3].metrics["height"])
    assert {trial.run_id for trial in trials.trials} == {run.info.run_id for run in runs.values()}


@pytest.mark.integration
def test_a_sweep_that_was_interrupted_goes_on(small: Corpus, empty: Path, tmp_path: Path) -> None:
    whole = sweep(small, tmp_path / "whole" / "sweep")

    def interrupt(trial: Any, trials: Trials) -> None:
        if len(trials.trials) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(small, empty, listener=Listener(ended=interrupt))
    before = Trials.read(empty / "trials.json")
    assert len(before.trials) == 5
    swept = sweep(small, empty, "resume")
    assert swept.trials.trials[:5] == before.trials
    # It tried what it would have tried undisturbed.
    assert [t.params for t in swept.trials.trials] == [t.params for t in whole.trials.trials]
    assert len(runs_of(empty.parent, swept.run_id)) == 12


@pytest.mark.integration
def test_a_trial_that_was_under_way_is_run_again_in_its_own_run(small: Corpus, empty: Path) -> None:
    def killed(metrics: dict[str, float], step: int) -> None:
        raise KeyboardInterrupt

    from helpers.toy_study import Toy

    run = Toy.run
    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Toy, "run", lambda self, p, r, f: run(self, p, r if f.name != "0004" else killed, f))
        sweep(small, empty)
    under_way = json.loads((empty / "under_way.json").read_text())
    assert [entry["number"] for entry in under_way] == [4]
    swept = sweep(small, empty, "resume")
    assert swept.trials.trials[4].params == under_way[0]["params"]
    assert swept.trials.trials[4].run_id == under_way[0]["run_id"]
    runs = runs_of(empty.parent, swept.run_id)
    assert len(runs) == 12
    assert runs["trial 0004"].info.status == "FINISHED"


@pytest.mark.integration
def test_short_trials_choose_which_are_run_in_full(small: Corpus, empty: Path) -> None:
    protocol = {"short": {"steps": 1}, "full": {"steps": 6}, "best": 3}
    swept = sweep(small, empty, protocol=protocol, budget={"trials": 8})
    short = [trial for trial in swept.trials.trials if trial.phase == "short"]
    full = [trial for trial in swept.trials.trials if trial.phase == "full"]
    assert (len(short), len(full)) == (8, 3)
    assert {len(trial.curve) for trial in short} == {1}
    assert {len(trial.curve) for trial in full} == {6}
    best = sorted(short, key=lambda trial: -trial.metrics["height"])[:3]
    assert [trial.params for trial in full] == [trial.params for trial in best]
    assert swept.best.phase == "full"
    again = sweep(small, empty, "resume", protocol=protocol, budget={"trials": 8})
    assert again.trials == swept.trials


@pytest.mark.integration
def test_failed_trials_are_recorded_and_do_not_end_the_sweep(small: Corpus, empty: Path) -> None:
    space = SWEEP["space"] | {"trouble": {"choice": ["none", "input"]}}  # type: ignore[operator]
    swept = sweep(small, empty, space=space)
    failed = [trial for trial in swept.trials.trials if trial.state == "failed"]
    assert 0 < len(failed) < 11
    assert {trial.error for trial in failed} == {"toy: x is not to its liking"}
    run = runs_of(empty.parent, swept.run_id)[f"trial {failed[0].number:04d}"]
    assert (run.info.status, run.data.tags["state"]) == ("FAILED", "failed")
    assert run.data.tags["error"] == "toy: x is not to its liking"


def test_a_sweep_of_nothing_but_failures_says_why(small: Corpus, empty: Path) -> None:
    space = {"trouble": {"choice": ["input"]}}
    plan = planned(
        Sweep.parse(SWEEP | {"space": space, "start": [], "budget": {"trials": 2}}), str(small.path), empty
    )
    with pytest.raises(
        CociteError, match="no trial finished .* the last one failed: toy: x is not to its liking"
    ):
        tune(plan, Manner(tracking=TrackingSettings(enabled=False)))


def test_the_command_line(
    small: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(json.dumps(SWEEP))
    command = ["tune", "toy.yaml", "budget.trials=5", "--corpus", str(small.path), "--no-track"]
    code, out, err = call(capsys, *command, "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["trials"] == {"finished": 5, "stopped": 0, "failed": 0}
    assert answer["folder"] == "sweeps/toy"
    assert answer["best"]["metrics"]["height"] <= 0
    code, _, err = call(capsys, *command)
    assert (code, "sweeps/toy: holds a sweep (pass --resume" in err) == (2, True)
    code, out, err = call(capsys, *command, "budget.trials=6", "--resume", "--max-latency-ms", "4")
    assert code == 0, err
    assert "trial 5: height" in err
    assert "of 6 (6 finished, 0 stopped, 0 failed)" in out
    code, out, _ = call(capsys, "tune", "report", "sweeps/toy")
    assert code == 0
    code, out, _ = call(capsys, "tune", "toy.yaml", "--check", "--json")
    assert json.loads(out)["parameters"] == ["x", "size"]
    code, _, err = call(capsys, "tune", "toy.yaml", "--to", "s3://bucket/sweep")
    assert (code, "is no folder" in err) == (2, True)
    code, out, _ = call(capsys, "tune", "list", "--json")
    assert json.loads(out)["nnselect"]["study"]["recipe"] == "nnselect"

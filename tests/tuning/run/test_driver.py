"""A sweep of in-process trials from its plan to its result, with its runs in MLflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.sweeps import run_tracked, run_untracked, trial_runs
from helpers.toy_study import TOY, Toy

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, NotFoundError
from cocite_mlflow.connection import TrackingSettings
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.driver import FinishedSweep, SweepOptions, run_sweep
from cocite_tuning.run.plan import plan_sweep
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.sweep import Sweep
from cocite_tuning.sweep.trials import Trials, read_trials

pytestmark = pytest.mark.usefixtures("mlflow_store")

SWEEP: dict[str, Any] = TOY | {
    "space": {"x": {"uniform": [-3, 3]}, "size": {"uniformint": [1, 9]}},
    "budget": {"trials": 12},
}


def run(
    small: Corpus, to: Path, start: str = "new", callback: SweepCallback | None = None, **changed: Any
) -> FinishedSweep:
    return run_tracked(SWEEP | changed, small, to, start, callback)


@pytest.mark.integration
def test_trials_are_run_kept_and_reported(small: Corpus, empty: Path) -> None:
    seen: list[str] = []
    callback = SweepCallback(on_stage=lambda name, total: seen.append(f"{name} {total}"))
    finished = run(small, empty, callback=callback)
    assert seen[:2] == ["preparing 0", "trials 12"]
    trials = Trials.read(empty / "trials.json")
    assert finished.trials == trials
    assert [trial.number for trial in trials.trials] == list(range(12))
    assert trials.trials[0].params == {}  # the default comes first
    assert all(set(trial.params) == {"x", "size"} for trial in trials.trials[1:])
    assert finished.best.belongs_to(trials.best())
    assert finished.best.metrics["height"] == max(trial.metrics["height"] for trial in trials.trials)
    assert [step for step, _ in trials.trials[3].curve] == [1, 2, 3, 4]
    assert "<svg" in finished.report.read_text()
    assert json.loads((empty / "best.json").read_text())["number"] == finished.best.number
    assert finished.model is None
    assert (empty / "shared" / "prepared").read_text() == "once\n"
    runs = trial_runs(empty.parent, finished.run_id)
    assert sorted(runs) == [f"trial {number:04d}" for number in range(12)]
    mlflow_run = runs["trial 0003"]
    assert mlflow_run.info.status == "FINISHED"
    assert mlflow_run.data.params.keys() == {"x", "size"}
    assert mlflow_run.data.metrics["best.height"] == pytest.approx(trials.trials[3].metrics["height"])
    assert {trial.run_id for trial in trials.trials} == {run.info.run_id for run in runs.values()}


@pytest.mark.integration
def test_a_sweep_that_was_interrupted_continues(small: Corpus, empty: Path, tmp_path: Path) -> None:
    whole = run(small, tmp_path / "whole" / "sweep")

    def interrupt(trial: Any, trials: Trials) -> None:
        if len(trials.trials) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        run(small, empty, callback=SweepCallback(on_trial_end=interrupt))
    before = Trials.read(empty / "trials.json")
    assert len(before.trials) == 5
    finished = run(small, empty, "resume")
    assert finished.trials.trials[:5] == before.trials
    # It tried what it would have tried without the interruption.
    assert [t.params for t in finished.trials.trials] == [t.params for t in whole.trials.trials]
    assert len(trial_runs(empty.parent, finished.run_id)) == 12


@pytest.mark.integration
def test_a_trial_that_was_interrupted_is_run_again_in_its_own_run(small: Corpus, empty: Path) -> None:
    def killed(metrics: dict[str, float], step: int) -> None:
        raise KeyboardInterrupt

    toy_run = Toy.run
    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt, match=r"^$"):
        patched.setattr(
            Toy, "run", lambda self, p, r, f: toy_run(self, p, r if f.name != "0004" else killed, f)
        )
        run(small, empty)
    under_way = json.loads((empty / "under_way.json").read_text())
    assert [entry["number"] for entry in under_way] == [4]
    finished = run(small, empty, "resume")
    assert finished.trials.trials[4].params == under_way[0]["params"]
    assert finished.trials.trials[4].run_id == under_way[0]["run_id"]
    runs = trial_runs(empty.parent, finished.run_id)
    assert len(runs) == 12
    assert runs["trial 0004"].info.status == "FINISHED"


def test_a_sweep_of_nothing_but_failures_says_why(small: Corpus, empty: Path) -> None:
    space = {"trouble": {"choice": ["input"]}}
    plan = plan_sweep(
        Sweep.parse(SWEEP | {"space": space, "start": [], "budget": {"trials": 2}}), str(small.path), empty
    )
    with pytest.raises(
        CociteError, match="no trial finished .* the last one failed: toy: x is not to its liking"
    ):
        run_sweep(plan, SweepOptions(tracking=TrackingSettings(enabled=False)))


def test_the_best_trial_is_the_best_within_the_latency(small: Corpus, empty: Path) -> None:
    def plan() -> Any:
        return plan_sweep(Sweep.parse(SWEEP), str(small.path), empty)

    untracked = TrackingSettings(enabled=False)
    finished = run_sweep(plan(), SweepOptions(max_latency_ms=3, tracking=untracked))
    allowed = [trial for trial in finished.trials.trials if trial.metrics["latency_ms"] <= 3]
    assert finished.best.metrics["height"] == max(trial.metrics["height"] for trial in allowed)
    assert len(allowed) < 12
    with pytest.raises(NotFoundError, match=r"no trial keeps latency_ms within 0\.5"):
        run_sweep(plan(), SweepOptions("resume", max_latency_ms=0.5, tracking=untracked))


OLD_TRIAL = {
    "number": 0,
    "params": {},
    "metrics": {"height": -2.0, "latency_ms": 1.0},
    "curve": [[1, {"height": -4.0, "loss": 1.0}], [2, {"height": -3.0, "loss": 0.5}]],
    "state": "finished",
    "phase": "",
    "seconds": 0.5,
    "run_id": "",
    "error": "",
}
OLD_FILES: dict[str, Any] = {
    "sweep.json": {
        "run_id": "",
        "sweep": {
            "metric": {"mode": "max", "name": "height"},
            "name": "toy",
            "protocol": None,
            "scheduler": {"grace": 1, "kind": "none", "longest": 100, "reduction": 3.0},
            "search": "tpe",
            "seed": 0,
            "space": {"x": {"uniform": [-3, 3]}},
            "start": [{}],
            "study": {"kind": "toy", "light": True, "seconds": 0.0, "steps": 4},
        },
    },
    "trials.json": {"sweep": "toy", "metric": "height", "mode": "max", "trials": [OLD_TRIAL]},
    "under_way.json": [
        {
            "number": 1,
            "params": {"x": 0.75},
            "phase": "",
            "run_id": "",
            "curve": [[1, {"height": -0.5}]],
            "seconds": 9.0,
        }
    ],
}
"""The files of a sweep that cocite 0.1.0 began: trial 0 has ended, trial 1 was running when the process was killed."""


def test_a_sweep_that_an_earlier_version_began_is_resumed_and_reported(
    small: Corpus, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty.mkdir()
    for name, data in OLD_FILES.items():
        content = data | {"corpus": small.version} if name == "sweep.json" else data
        (empty / name).write_text(json.dumps(content))
    (empty / "trials" / "0001").mkdir(parents=True)
    (empty / "shared").mkdir()
    finished = run_untracked(TOY | {"budget": {"trials": 3}}, small, empty, "resume")
    first, resumed, new = finished.trials.trials
    assert first.model_dump(mode="json") == OLD_TRIAL
    assert (resumed.number, resumed.params, resumed.metrics["height"]) == (1, {"x": 0.75}, -0.25)
    assert resumed.seconds >= 9
    assert [step for step, _ in resumed.curve] == [1, 2, 3, 4]
    assert resumed.curve[0][1]["height"] == -0.5  # step 1 was recorded before
    assert new.number == 2
    code, out, _ = call(capsys, "tune", "report", empty)
    assert (code, "toy: trials 3 (3 finished)" in out) == (0, True)


def test_the_folder_of_a_finished_sweep_of_an_earlier_version_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison = {
        "queries": 300, "mean": 0.31, "other": 0.3, "difference": 0.01, "low": 0.005, "high": 0.015, "t": 4.0,
        "p": 0.0001, "d": 0.2, "d_paired": 0.3,
    }  # fmt: skip
    best = OLD_TRIAL | {
        "confirmation": comparison,
        "why_not": "",
        "commands": ["cocite serve"],
        "notes": ["So."],
    }
    (tmp_path / "trials.json").write_text(json.dumps(OLD_FILES["trials.json"]))
    (tmp_path / "best.json").write_text(json.dumps(best))
    result = SweepResult.read(tmp_path)
    assert result is not None
    assert result.model_dump(mode="json") == best | {
        "confirmation": comparison | {"papers": 0}
    }  # not counted then
    assert result.belongs_to(read_trials(tmp_path).best())
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--json")
    answer = json.loads(out)
    assert (code, answer["default_stays"]) == (0, False)
    assert answer["use"] == {"commands": ["cocite serve"], "notes": ["So."]}

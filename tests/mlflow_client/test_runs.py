from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.small_disk import run_on_disk

from cocite.errors import InputError
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import MlflowRun, start_run


def test_a_run_logs_parameters_metrics_and_files(
    tracking: TrackingSettings, client: Any, tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    report.write_text("# numbers\n")
    params = {"task": "local", "model": {"k": 5, "fields": ["title"]}}
    with start_run(
        "first", experiment="tests", params=params, tags={"corpus": "abc"}, tracking=tracking
    ) as run:
        run.log_metrics({"R@10": 0.25, "positives >= 2/MRR": 0.5, "nothing": float("nan")})
        run.log_metrics({"loss": 2.0}, step=1)
        run.log_metrics({"loss": 1.0}, step=2)
        run.log_artifact(report)
    stored = client.get_run(run.id)
    assert stored.info.status == "FINISHED"
    assert stored.info.run_name == "first"
    assert stored.data.params == {"task": "local", "model.k": "5", "model.fields": "['title']"}
    assert stored.data.metrics == {"R_at_10": 0.25, "positives ge 2/MRR": 0.5, "loss": 1.0}
    assert stored.data.tags["corpus"] == "abc"
    assert [(m.step, m.value) for m in client.get_metric_history(run.id, "loss")] == [(1, 2.0), (2, 1.0)]
    copy = tracking.folder / "mlartifacts/tests" / run.id / "artifacts/report.md"
    assert copy.read_text() == "# numbers\n"


def test_a_resumed_run_logs_each_step_once(tracking: TrackingSettings, client: Any) -> None:
    with start_run("long", experiment="tests", params={"rate": 1}, tracking=tracking) as run:
        run.log_metrics({"loss": 3.0}, step=1)
        run.log_metrics({"loss": 2.0}, step=2)
    with start_run(
        "again", experiment="tests", params={"rate": 2}, tracking=tracking, resume=run.id
    ) as resumed:
        assert client.get_run(run.id).info.status == "RUNNING"
        for step, loss in ((1, 9.0), (2, 9.0), (3, 1.0)):
            resumed.log_metrics({"loss": loss}, step=step)
    assert resumed.id == run.id
    assert client.get_run(run.id).data.params == {"rate": "1"}, "its parameters stay"
    history = [(m.step, m.value) for m in client.get_metric_history(run.id, "loss")]
    assert history == [(1, 3.0), (2, 2.0), (3, 1.0)]


def test_a_run_that_the_store_does_not_have_is_started_anew(tracking: TrackingSettings, client: Any) -> None:
    with start_run("anew", experiment="tests", tracking=tracking, resume="0" * 32) as run:
        pass
    assert client.get_run(run.id).info.run_name == "anew"


def test_a_run_has_children_which_resume_where_their_parameters_are_the_same(
    tracking: TrackingSettings, client: Any
) -> None:
    with start_run("sweep", experiment="tests", tracking=tracking) as run:
        first = run.start_child("trial 1", {"rate": 0.1}, tags={"phase": "short"})
        first.log_metrics({"loss": 2.0}, step=1)
        first.end("KILLED")
        second = run.start_child("trial 2", {"rate": 0.2})
        second.end()
        assert run.child_ids() == {"trial 1": first.id, "trial 2": second.id}
        same = run.start_child("trial 1", {"rate": 0.1}, resume=first.id)
        assert (same.id, same.logged_steps) == (first.id, {"loss": 1})
        other = run.start_child("trial 2", {"rate": 0.3}, resume=second.id)
        assert other.id != second.id
        assert run.child_ids() == {"trial 1": first.id, "trial 2": other.id}
    assert client.get_run(first.id).data.tags["phase"] == "short"
    assert client.get_run(second.id).info.lifecycle_stage == "deleted"


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, "FAILED"), (KeyboardInterrupt, "KILLED")])
def test_the_status_of_a_run_that_raises(
    tracking: TrackingSettings, client: Any, error: type[BaseException], status: str
) -> None:
    run = MlflowRun()

    def body() -> None:
        nonlocal run
        with start_run("bad", experiment="tests", tracking=tracking) as run:
            raise error("why")

    with pytest.raises(error, match="why"):
        body()
    assert client.get_run(run.id).info.status == status


def test_a_missing_file_is_named(tracking: TrackingSettings, tmp_path: Path) -> None:
    with (
        start_run("files", experiment="tests", tracking=tracking) as run,
        pytest.raises(InputError, match="no such file"),
    ):
        run.log_artifact(tmp_path / "none")


def test_tracking_can_be_off(tmp_path: Path) -> None:
    off = TrackingSettings(folder=tmp_path, enabled=False)
    with start_run("none", experiment="tests", tracking=off) as run:
        run.log_metrics({"x": 1})
        run.log_params({"x": 1})
        run.set_tag("x", "1")
        run.log_artifact(tmp_path)
        run.start_child("child", {}).end()
        assert run.child_ids() == {}
    assert run.id == ""
    assert not list(tmp_path.iterdir())


def test_the_environment_names_the_store(
    tracking: TrackingSettings, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tracking.folder}/mlflow.db")
    unused = TrackingSettings(folder=tmp_path / "unused")
    with start_run("elsewhere", experiment="tests", tracking=unused) as run:
        pass
    assert client.get_run(run.id).info.status == "FINISHED"
    assert not (tmp_path / "unused").exists()


FULL = """
import os, sys
from pathlib import Path
from cocite.errors import CociteError
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import start_run

folder = Path(sys.argv[1])
try:
    with start_run("full", experiment="tests", tracking=TrackingSettings(folder=folder)):
        print("it ran")
except CociteError as error:
    print(error, [path.name for path in folder.iterdir()])
"""


@pytest.mark.integration
def test_a_full_disk_is_reported_and_no_half_of_a_database_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    line = run_on_disk(tmp_path / "disk", FULL, options="size=200k").splitlines()[-1]
    assert line.startswith(
        f"{tmp_path / 'disk'}: no space left on the device (MLflow keeps its runs there: make room, or"
    )
    assert line.endswith(" []")

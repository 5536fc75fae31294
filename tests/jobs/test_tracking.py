from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.small_disk import run_on_disk

from cocite.artifacts import publish, verify
from cocite.errors import CociteError, InputError, IntegrityError
from cocite_jobs import tracking
from cocite_jobs.tracking import Tracking


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield Tracking(folder=tmp_path_factory.mktemp("mlflow"))


def client(store):
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{store.folder}/mlflow.db")


def test_a_run_keeps_parameters_metrics_and_files(store, tmp_path):
    report = tmp_path / "report.md"
    report.write_text("# numbers\n")
    params = {"task": "local", "model": {"k": 5, "fields": ["title"]}}
    with tracking.run(
        "first", experiment="tests", params=params, tags={"corpus": "abc"}, tracking=store
    ) as run:
        run.log({"R@10": 0.25, "positives >= 2/MRR": 0.5, "nothing": float("nan")})
        run.log({"loss": 2.0}, step=1)
        run.log({"loss": 1.0}, step=2)
        run.artifact(report)
    found = client(store).get_run(run.id)
    assert found.info.status == "FINISHED"
    assert found.info.run_name == "first"
    assert found.data.params == {"task": "local", "model.k": "5", "model.fields": "['title']"}
    assert found.data.metrics == {"R_at_10": 0.25, "positives ge 2/MRR": 0.5, "loss": 1.0}
    assert found.data.tags["corpus"] == "abc"
    assert [(m.step, m.value) for m in client(store).get_metric_history(run.id, "loss")] == [
        (1, 2.0),
        (2, 1.0),
    ]
    assert (store.folder / "mlartifacts/tests" / run.id / "artifacts/report.md").read_text() == "# numbers\n"


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, "FAILED"), (KeyboardInterrupt, "KILLED")])
def test_a_run_that_ends_badly_says_so(store, error, status):
    run = None

    def body():
        nonlocal run
        with tracking.run("bad", experiment="tests", tracking=store) as run:
            raise error

    with pytest.raises(error):
        body()
    assert client(store).get_run(run.id).info.status == status


def test_a_missing_file_is_told(store, tmp_path):
    with (
        tracking.run("files", experiment="tests", tracking=store) as run,
        pytest.raises(InputError, match="no such file"),
    ):
        run.artifact(tmp_path / "none")


def test_a_model_is_registered_and_fetched_as_it_was(store, tmp_path):
    for weight in ("one", "two"):
        model = tmp_path / weight
        with publish(model / "nnselect", kind="nnselect", meta={}) as folder:
            (folder / "model.safetensors").write_text(weight)
        version = tracking.register(model, "citeomatic", "champion", tracking=store)
    assert version == 2
    fetched = tracking.fetch("citeomatic", "champion", tmp_path / "back", tracking=store)
    assert verify(fetched / "nnselect", kind="nnselect").files.keys() == {"model.safetensors"}
    assert (fetched / "nnselect/model.safetensors").read_text() == "two"
    first = client(store).get_model_version("citeomatic", "1")
    assert list(first.tags) == ["artifact.nnselect"]
    with pytest.raises(InputError, match="holds no model"):
        tracking.register(tmp_path / "back", "citeomatic", "champion", tracking=store)
    with pytest.raises(CociteError, match="MLflow:"):
        tracking.fetch("citeomatic", "nobody", tmp_path, tracking=store)


def test_a_damaged_model_is_not_registered(store, tmp_path):
    with publish(tmp_path / "model" / "nnselect", kind="nnselect", meta={}) as folder:
        (folder / "model.safetensors").write_text("one")
    (tmp_path / "model" / "nnselect" / "model.safetensors").write_text("onf")
    with pytest.raises(IntegrityError, match="model.safetensors: damaged"):
        tracking.register(tmp_path / "model", "damaged", "champion", tracking=store)
    assert "damaged" not in [model.name for model in client(store).search_registered_models()]


def test_tracking_can_be_off(tmp_path):
    off = Tracking(folder=tmp_path, enabled=False)
    with tracking.run("none", experiment="tests", tracking=off) as run:
        run.log({"x": 1})
        run.artifact(tmp_path)
    assert run.id == ""
    assert not list(tmp_path.iterdir())


def test_the_environment_names_the_store(store, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store.folder}/mlflow.db")
    with tracking.run("elsewhere", experiment="tests", tracking=Tracking(folder=tmp_path / "unused")) as run:
        pass
    assert client(store).get_run(run.id).info.status == "FINISHED"
    assert not (tmp_path / "unused").exists()


def test_mlflow_is_not_imported_before_it_is_needed():
    code = "import sys, cocite_jobs.tracking; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


FULL = """
import os, sys
from pathlib import Path
from cocite.errors import CociteError
from cocite_jobs import tracking
from cocite_jobs.tracking import Tracking

folder = Path(sys.argv[1])
try:
    with tracking.run("full", experiment="tests", tracking=Tracking(folder=folder)):
        print("it ran")
except CociteError as error:
    print(error, [path.name for path in folder.iterdir()])
"""


@pytest.mark.integration
def test_a_full_disk_is_told_and_no_half_of_a_database_is_left(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    said = run_on_disk(tmp_path / "disk", FULL, options="size=200k").splitlines()[-1]
    assert said.startswith(
        f"{tmp_path / 'disk'}: no space left on the device (MLflow keeps its runs there: make room, or"
    )
    assert said.endswith(" []")

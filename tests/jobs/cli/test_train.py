"""``cocite train`` for a neural kind, in this process, with all that is kept of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import bag_recipe as bag
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.cli import root
from cocite.corpus.store import Corpus
from cocite.training.engine.world import World
from cocite_jobs.cli.train import shown
from cocite_jobs.training.engine_session import EngineSession
from cocite_mlflow import runs
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registry import download_model
from cocite_mlflow.runs import MlflowRun


@pytest.fixture(scope="module", autouse=True)
def kind() -> Iterator[None]:
    bag.register()
    yield
    bag.KINDS.pop("bag")


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(60, seed=11)


@pytest.fixture
def command(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    training = {"steps": 6, "batch": 8, "tokens": 20, "log_every": 2, "evaluate_every": 3}
    (tmp_path / "ours.yaml").write_text(json.dumps({"kind": "bag", "training": training}))
    return ["train", "ours.yaml", "--corpus", str(corpus.path), "--on", "process"]


@pytest.mark.integration
def test_a_model_is_tracked_and_registered(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlflow import MlflowClient

    code, out, err = call(capsys, *command, "--register", "ours@champion", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["details"]["registered"] == "ours@champion, version 1"
    assert "no golden queries" in answer["notes"][0]
    assert [entry["step"] for entry in answer["steps"]] == [0, 2, 3, 4, 6, 6]
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    [run] = client.search_runs([client.get_experiment_by_name("train").experiment_id])
    assert run.data.params["training.batch"] == "8"
    kept = {"loss", "learning_rate", "gradient_norm", "tokens_per_second", "mfu", "epoch", "fit", "best.fit"}
    assert run.data.metrics.keys() == kept
    assert [m.step for m in client.get_metric_history(run.info.run_id, "loss")] == [2, 4, 6]
    fetched = download_model(
        "ours", "champion", tmp_path / "back", tracking=TrackingSettings(folder=tmp_path)
    )
    assert verify(fetched / "bag").digest == verify(tmp_path / "model" / "bag").digest


def test_each_detail_of_a_training_has_a_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, *command, "--no-track")
    assert code == 0, err
    assert re.search(r"^seconds: \d+\.\d+$", err, re.MULTILINE), err


def test_a_model_elsewhere_is_named_by_its_uri(
    command: list[str], remote: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([], ["--json", "--fresh"]):
        code, out, err = call(capsys, *command, "--to", f"{remote}/model", "--no-track", *arguments)
        assert code == 0, err
        assert f"{remote}/model/bag" in "".join(out.split())  # a table's title is broken into lines
        assert "cache" not in out + err
    assert json.loads(out)["folder"] == f"{remote}/model/bag"


@pytest.mark.parametrize(("world_size", "backend"), [(1, "plain"), (2, "ddp")])
def test_the_run_has_the_backend_that_trained(
    command: list[str], world_size: int, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What MLflow gets, without MLflow."""
    kept: dict[str, Any] = {}

    @contextmanager
    def start_run(name: str, **options: Any) -> Iterator[Run]:
        kept.update(options)
        yield Run()

    class Run(MlflowRun):
        def set_tag(self, name: str, value: str) -> None:
            kept["set"] = (name, value)

    class Trained(Exception):
        """What is looked at has happened."""

    def train(*_: object) -> None:
        raise Trained

    monkeypatch.setattr(runs, "start_run", start_run)
    monkeypatch.setattr(EngineSession, "train", train)
    monkeypatch.setattr(World, "join", lambda **_: World(size=world_size))
    monkeypatch.setattr(World, "agree", lambda _, value: value)
    with pytest.raises(Trained, match=r"^$"):
        root.main(args=command, standalone_mode=False)
    assert kept["params"]["training"]["backend"] == kept["tags"]["backend"] == backend
    assert kept["set"] == ("backend", backend)


def test_the_steps_are_printed(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *command, "--no-track")
    assert code == 0
    lines = [line for line in err.splitlines() if line.startswith("step ")]
    assert [line.split(":")[0] for line in lines] == [f"step {step}" for step in (0, 2, 3, 4, 6, 6)]
    assert "fit" in out
    assert "ended: done" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--resume", "--fresh"], "train: --resume and --fresh exclude each other"),
        (["--resume"], "holds no training to go on with (leave --resume out)"),
        (["--index", "index"], "--index: goes with --register"),
        (["--index", "none", "--register", "a"], "none: "),
        (["--register", "a@"], "--register: 'a@' is not of the form NAME[@ALIAS]"),
        (
            ["--register", "a", "--no-track"],
            "--register: a model is registered in MLflow (leave --no-track out)",
        ),
        (["workers.count=-1", "--on", "ray"], "workers.count: input should be greater than or equal to 0"),
        (["workers.count=0", "--on", "ray"], "workers.count: 0 is no number of workers"),
        (
            ["workers.count=2", "training.backend=plain", "--on", "ray"],
            "plain trains on one worker, and there are 2",
        ),
        (["training.btch=3"], "unknown key 'training.btch' (did you mean 'batch'?)"),
    ],
)
def test_mistakes_are_one_sentence(
    command: list[str],
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = call(capsys, *command, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [(130.34, "130.3"), (0.5657, "0.566"), (-0.0021, "-0.002"), (1.0, "1.0"), (7, "7"), ("none", "none")],
)
def test_shares_keep_the_digits_that_tell_models_apart(value: object, text: str) -> None:
    assert shown(value) == text

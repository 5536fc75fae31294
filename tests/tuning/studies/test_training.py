"""Trials that train: what they share, what they begin with, and how one that died is continued."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.study_hits import ignore_metrics
from helpers.usage_commands import parsed_usage

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError
from cocite.manifests import read_manifest
from cocite_jobs.cluster import connection
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import open_session
from cocite_jobs.training.types import LaunchOptions
from cocite_tuning.studies.training import METRICS_FILE, TrainingStudy
from cocite_tuning.studies.training_settings import TrainingStudySettings

SMALL = {"model.dimension": 8, "training.batch": 64, "training.epochs": 2, "training.patience": 9}
HATTEN: dict[str, Any] = {
    "model": {"dimension": 8, "heads": 2, "feed_forward": 8},
    "paragraphs": {"vocabulary_size": 400, "least": 1},
    "objective": {"bag_epochs": 2},
    "training": {"epochs": 2, "batch": 32, "precision": "fp32", "evaluate_every": 2},
}


def study(corpus: Corpus, shared: Path, recipe: str = "nnselect", **more: Any) -> TrainingStudy:
    settings = {"kind": "training", "recipe": recipe, "set": SMALL} | more
    return TrainingStudy(TrainingStudySettings.parse(settings), corpus.path, shared)


def test_a_trial_trains_with_its_parameters_and_reports_its_curve(small: Corpus, tmp_path: Path) -> None:
    logged: list[tuple[int, dict[str, float]]] = []
    metrics = study(small, tmp_path / "shared").run(
        {"model.dimension": 12, "objective.extra": [0, 1, 0]},
        lambda metrics, step: logged.append((step, metrics)),
        tmp_path / "trial",
    )
    curve = {step: values["R@20"] for step, values in logged if "R@20" in values}
    epoch = max(curve) // 2
    assert sorted(curve) == [0, epoch, 2 * epoch]
    assert metrics["R@20"] == pytest.approx(max(curve.values()))
    assert metrics.keys() == set(study(small, tmp_path / "shared").metric_names)
    recipe = read_manifest(tmp_path / "trial" / "nnselect").meta["recipe"]
    assert recipe["model"]["dimension"] == 12
    assert recipe["objective"]["extra"] == [0, 1, 0]
    assert recipe["training"]["batch"] == 64


def test_a_trial_that_ended_is_not_trained_again(small: Corpus, tmp_path: Path) -> None:
    ours, reported = study(small, tmp_path / "shared"), []
    first = ours.run({}, ignore_metrics, tmp_path / "trial")
    before = (tmp_path / "trial" / "nnselect" / "manifest.json").stat().st_mtime_ns
    again = ours.run({}, lambda metrics, step: reported.append(step), tmp_path / "trial")
    assert again == first
    assert not reported
    assert (tmp_path / "trial" / "nnselect" / "manifest.json").stat().st_mtime_ns == before


def test_a_trial_that_died_continues_from_its_checkpoint(small: Corpus, tmp_path: Path) -> None:
    ours = study(small, tmp_path / "shared")
    whole = ours.run({}, ignore_metrics, tmp_path / "whole")
    seen: list[int] = []

    def die(metrics: dict[str, float], step: int) -> None:
        if "R@20" in metrics:
            seen.append(step)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        ours.run({}, die, tmp_path / "trial")
    again: list[int] = []
    metrics = ours.run(
        {}, lambda found, step: again.append(step) if "R@20" in found else None, tmp_path / "trial"
    )
    assert again == [0, seen[1], seen[2]]  # what was logged before the checkpoint is told again
    assert metrics["R@20"] == whole["R@20"]


def test_earlier_recipes_are_trained_once_and_every_trial_begins_with_them(
    small: Corpus, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    fast = {"objective.folds": 0, "candidates.neighbours": 5}
    ours = study(
        small, shared, "nnrank", before=["nnselect"], set={"training.epochs": 1, "model.dimension": 8} | fast
    )
    ours.prepare()
    made = verify(shared / "nnselect").digest
    before = (shared / "nnselect" / "manifest.json").stat().st_mtime_ns
    ours.prepare()
    assert (shared / "nnselect" / "manifest.json").stat().st_mtime_ns == before
    metrics = ours.run({}, ignore_metrics, tmp_path / "trial")
    assert "F1@20" in metrics
    assert verify(tmp_path / "trial" / "nnselect").digest == made
    shutil.rmtree(tmp_path / "trial")  # links: what is shared stays
    assert verify(shared / "nnselect").digest == made


def earlier_recipe(folder: Path) -> str:
    """The file of a recipe of NNSelect that trains in the process that asks for it."""
    recipe = {"kind": "nnselect", "model": {"dimension": 8}, "training": {"epochs": 2, "batch": 64}}
    file = folder / "earlier.yaml"
    file.write_text(json.dumps(recipe | {"workers": {"count": 0}}))
    return str(file)


def test_an_earlier_recipe_whose_training_was_interrupted_goes_on(small: Corpus, tmp_path: Path) -> None:
    recipe = earlier_recipe(tmp_path)
    measured: list[int] = []

    def die(metrics: dict[str, float], step: int) -> None:
        if "R@20" in metrics:
            measured.append(step)
        if len(measured) == 3:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt, match=r"^$"),
        open_session(load_recipe(recipe), small, tmp_path / "shared", LaunchOptions()) as session,
    ):
        session.train(ProgressFunctions(log=die))
    assert (tmp_path / "shared" / ".nnselect.training" / f"step-{measured[1]:08d}").is_dir()
    for shared in ("shared", "whole"):
        study(small, tmp_path / shared, "nnrank", before=[recipe], set={}).prepare()
    made, whole = (verify(tmp_path / shared / "nnselect") for shared in ("shared", "whole"))
    assert made.files == whole.files


def test_components_that_build_on_what_is_trained_are_left_out(small: Corpus, tmp_path: Path) -> None:
    from cocite.artifacts import publish

    for name in ("nnselect", "nnrank", "hatten", "fusion", "cross-encoder", "final"):
        with publish(tmp_path / "model" / name, kind=name, meta={}) as folder:
            (folder / "weights").write_text(name)
    ours = study(small, tmp_path / "shared", model=str(tmp_path / "model"))
    ours.prepare()
    ours.run({}, ignore_metrics, tmp_path / "trial")
    trial = sorted(path.name for path in (tmp_path / "trial").iterdir() if not path.name.startswith("."))
    assert trial == ["cross-encoder", "hatten", "nnselect", "paper-words"]


def test_word_vectors_are_made_once_for_all_trials(small: Corpus, tmp_path: Path) -> None:
    ours = study(small, tmp_path / "shared", "hatten", set=HATTEN)
    ours.prepare()
    made = verify(tmp_path / "shared" / "word-vectors").digest
    metrics = ours.run({"training.optimizer.learning_rate": 0.01}, ignore_metrics, tmp_path / "trial")
    assert metrics.keys() == set(ours.metric_names)
    file = next((tmp_path / "trial" / "word-vectors").glob("*.npy"))
    assert file.stat().st_nlink > 1
    # A trial of another size makes its own, and leaves the shared ones alone.
    ours.run({"model.dimension": 16}, ignore_metrics, tmp_path / "other")
    assert verify(tmp_path / "shared" / "word-vectors").digest == made


@pytest.mark.integration
def test_on_a_cluster_a_worker_makes_what_the_trials_share(
    small: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: dict[str, Any] = {"before": [earlier_recipe(tmp_path)], "set": {}}
    ours = study(small, tmp_path / "shared", "nnrank", **before)
    with ray_connection("local"), monkeypatch.context() as patch:
        patch.setattr(connection, "_private", False)  # as in a process that has joined a cluster
        with pytest.raises(InputError, match="a worker needs 1000 CPU, and no node has them"):
            replace(study(small, tmp_path / "shared"), cpus=1000).prepare()
        assert [path.name for path in (tmp_path / "shared").iterdir()] == []
        ours.prepare()
    study(small, tmp_path / "here", "nnrank", **before).prepare()
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == ["nnselect", "paper-words"]
    for name in ("nnselect", "paper-words"):
        made, here = (verify(tmp_path / where / name) for where in ("shared", "here"))
        assert made.files == here.files


def test_a_neural_trial_that_died_continues_from_its_checkpoint(small: Corpus, tmp_path: Path) -> None:
    ours = study(small, tmp_path / "shared", "hatten", set=HATTEN)

    def die(metrics: dict[str, float], step: int) -> None:
        if "R@100" in metrics and step >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        ours.run({}, die, tmp_path / "trial")
    assert not (tmp_path / "trial" / METRICS_FILE).is_file()
    metrics = ours.run({}, ignore_metrics, tmp_path / "trial")
    whole = ours.run({}, ignore_metrics, tmp_path / "whole")
    assert {**metrics, "seconds": 0} == {**whole, "seconds": 0}


def test_each_trial_has_a_storage_of_its_own(small: Corpus, tmp_path: Path) -> None:
    stored = HATTEN | {"workers.storage": str(tmp_path / "storage")}
    ours = study(small, tmp_path / "shared", "hatten", set=stored)
    storages = {ours.recipe({}, trial).workers.storage for trial in ("0001", "0002")}  # type: ignore[attr-defined]
    assert storages == {str(tmp_path / "storage" / trial) for trial in ("0001", "0002")}
    remote = study(
        small,
        tmp_path / "shared",
        "hatten",
        set=HATTEN | {"workers.storage": "s3://bucket/runs/?endpoint_override=localhost:9"},
    )
    stored_at = remote.recipe({}, "0001").workers.storage  # type: ignore[attr-defined]
    assert stored_at == "s3://bucket/runs/0001?endpoint_override=localhost:9"


def test_a_training_that_cannot_be_says_why(small: Corpus, tmp_path: Path) -> None:
    ours = study(small, tmp_path / "shared", "nnrank", set={})
    with pytest.raises(CociteError, match="holds no nnselect, which nnrank is trained on"):
        ours.run({}, ignore_metrics, tmp_path / "trial")


def test_the_commands_train_the_same_model_again(
    small: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fast = {"objective.folds": 0, "candidates.neighbours": 5, "training.epochs": 2, "model.dimension": 8}
    ours = study(small, Path("sweep/shared"), "nnrank", before=["nnselect"], set=fast)
    ours.prepare()
    params = {"training.optimizer.learning_rate": 1e-05}
    ours.run(params, ignore_metrics, Path("trial"))
    shutil.copytree("trial/nnrank", "sweep/best/nnrank")
    usage = ours.usage(params, str(small.path), Path("sweep/best"))
    serve, copy, train = usage.commands
    assert serve == "cocite serve --index index --model sweep/best"
    subprocess.run(shlex.split(copy), check=True)
    code, _, err = call(capsys, *shlex.split(train)[1:], "--no-track")
    assert code == 0, err
    digests = [verify(Path(folder) / "nnrank").digest for folder in ("model", "trial")]
    assert digests[0] == digests[1]


def test_the_commands_have_the_recipe_of_the_trial(small: Corpus, tmp_path: Path) -> None:
    settings = {"recipe": "nnselect", "set": {"training.epochs": 3}}
    training = TrainingStudy(TrainingStudySettings.parse(settings), small.path, tmp_path / "none")
    [line], _ = parsed_usage(training, {"training.optimizer.learning_rate": 1e-05}, small.path, tmp_path)
    assert line["recipe"] == training.recipe({"training.optimizer.learning_rate": 1e-05})
    settings = {"recipe": "hatten", "set": {"training.steps": 7}}
    neural = TrainingStudy(TrainingStudySettings.parse(settings), small.path, tmp_path / "none")
    (tmp_path / "best" / "nnselect").mkdir(parents=True)
    (build, serve, train), _ = parsed_usage(neural, {"objective.margin": 0.25}, small.path, tmp_path)
    assert train["recipe"] == neural.recipe({"objective.margin": 0.25})
    assert str(build["model"]) == str(serve["settings"].model) == str(tmp_path / "best")

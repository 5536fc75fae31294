"""What is made of the best trial: its model's files, its comparison with the default, its commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.toy_study import TOY, Toy, ToySettings

from cocite.artifacts import publish
from cocite.errors import InputError, NotFoundError
from cocite.evaluation.significance import Comparison, compare
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import MlflowRun, start_run
from cocite_tuning.run.best_trial import link_model, make_result, write_sweep_report
from cocite_tuning.run.plan import SweepPlan
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.studies.training_settings import TrainingStudySettings
from cocite_tuning.studies.usage import UsageCommands
from cocite_tuning.sweep.spaces import Space
from cocite_tuning.sweep.sweep import Sweep
from cocite_tuning.sweep.trials import Trial, Trials

pytestmark = pytest.mark.usefixtures("mlflow_store")

TOYS = Toy(ToySettings(), Path("corpus"), Path("shared"))
COMPARISON = compare(np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.4, 0.3]))
BEST = Trial(number=2, params={"x": 1.0}, metrics={"height": 0.5})
TRIALS = Trials(sweep="toy", metric="height", trials=(BEST,))


class Exporting(Toy):
    """A toy that holds queries out and writes an artifact."""

    def confirm(self, params: Mapping[str, Any], metric: str) -> Comparison:
        if metric == "loss":
            raise InputError("'loss' is no metric of a query")
        return COMPARISON

    def export(self, params: Mapping[str, Any], folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "params").write_text(repr(dict(params)))

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:
        return UsageCommands((f"use {corpus} {best.name} {sorted(params)}",), ("So.",))


def plan(study: type[Toy], to: Path, **changed: Any) -> SweepPlan:
    sweep = Sweep.parse(TOY | changed)
    toy = study(ToySettings(), Path("corpus"), to / "shared")
    return SweepPlan(sweep, toy, Space.parse(sweep.space), "corpus", to)


def test_the_best_trial_is_compared_exported_and_given_commands(tmp_path: Path) -> None:
    result = make_result(plan(Exporting, tmp_path), BEST, TRIALS)
    assert result.belongs_to(BEST)
    assert (result.confirmation, result.why_not) == (COMPARISON, "")
    assert result.commands == ("use corpus best ['x']",)
    assert result.notes == ("So.",)
    assert (tmp_path / "best" / "params").read_text() == "{'x': 1.0}"


def test_what_the_phase_fixed_is_part_of_what_is_used(tmp_path: Path) -> None:
    full = BEST.model_copy(update={"phase": "full"})
    protocol = {"short": {"steps": 1}, "full": {"steps": 6}}
    result = make_result(plan(Exporting, tmp_path, protocol=protocol), full, TRIALS)
    assert result.commands == ("use corpus best ['steps', 'x']",)
    assert result.params == {"x": 1.0}


def test_where_the_default_is_the_best_there_is_nothing_to_use(tmp_path: Path) -> None:
    default = BEST.model_copy(update={"params": {}})
    result = make_result(plan(Exporting, tmp_path), default, TRIALS)
    assert (result.commands, result.confirmation) == ((), None)
    assert result.notes == ("The default is the best of those that were tried: there is nothing to change.",)
    assert not (tmp_path / "best").exists()


def test_a_comparison_that_cannot_be_says_why(tmp_path: Path) -> None:
    loss = Trials(sweep="toy", metric="loss", trials=(BEST,))
    result = make_result(plan(Exporting, tmp_path), BEST, loss)
    assert result.why_not == "Not compared with the default on other queries: 'loss' is no metric of a query."
    assert result.commands
    # A study that holds no queries out by design needs no reason.
    plain = make_result(plan(Toy, tmp_path), BEST, TRIALS)
    assert (plain.confirmation, plain.why_not, plain.commands) == (None, "", ())


@contextmanager
def store_of(folder: Path) -> Iterator[TrialStore]:
    with TrialStore.opened(folder, Sweep.parse(TOY), "c1", start="new") as store:
        yield store


def component(folder: Path, name: str) -> None:
    with publish(folder / name, kind=name, meta={}) as temporary:
        (temporary / "weights").write_text(f"weights of {folder.name}")


def test_the_models_components_are_linked_and_nothing_else(empty: Path) -> None:
    with store_of(empty) as store:
        folder = store.trial_folder(2)
        component(folder, "nnselect")
        component(folder, "candidates")  # an artifact that is no component of a model
        (folder / "log").write_text("...")
        model = link_model(BEST, store, TOYS, empty)
        assert model == empty / "best"
        assert [path.name for path in model.iterdir()] == ["nnselect"]
        assert (model / "nnselect" / "weights").stat().st_ino == (
            folder / "nnselect" / "weights"
        ).stat().st_ino


def test_another_best_trial_replaces_the_earlier_one(empty: Path) -> None:
    with store_of(empty) as store:
        component(store.trial_folder(1), "nnselect")
        component(store.trial_folder(2), "hatten")
        link_model(BEST.model_copy(update={"number": 1}), store, TOYS, empty)
        model = link_model(BEST, store, TOYS, empty)
        assert model is not None
        assert [path.name for path in model.iterdir()] == ["hatten"]
        assert link_model(BEST.model_copy(update={"number": 3}), store, TOYS, empty) is None
        assert not (empty / "best").exists()


def test_a_training_whose_model_is_missing_is_no_success(empty: Path) -> None:
    study = TrainingStudy(TrainingStudySettings(recipe="nnselect"), "corpus", empty / "shared")
    with store_of(empty) as store:
        component(store.trial_folder(2), "hatten")  # what the trial began with, but not what it trained
        sentence = (
            r"trials/0002/nnselect: the model of trial 2, the best one, is missing \(do all nodes share"
        )
        with pytest.raises(NotFoundError, match=sentence):
            link_model(BEST, store, study, empty)
        component(store.trial_folder(2), "nnselect")
        assert link_model(BEST, store, study, empty) == empty / "best"


def test_without_tracking_the_report_is_written_all_the_same(tmp_path: Path) -> None:
    ours = plan(Exporting, tmp_path)
    result = make_result(ours, BEST, TRIALS)
    page = write_sweep_report(MlflowRun(), ours, TRIALS, result, None)
    assert page == tmp_path / "report.html"
    assert "use corpus best" in page.read_text()


@pytest.mark.integration
def test_the_sweeps_run_keeps_report_files_and_held_out_metrics(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    ours = plan(Exporting, tmp_path / "sweep")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text("{}")
    result = make_result(ours, BEST, TRIALS)
    with start_run("toy", experiment="tune", tracking=TrackingSettings(folder=tmp_path)) as run:
        write_sweep_report(run, ours, TRIALS, result, None)
        client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
        files = {
            entry.path for folder in ("", "report") for entry in client.list_artifacts(run.id, folder or None)
        }
        metrics = client.get_run(run.id).data.metrics
    assert {"sweep.json", "report/report.html", "report/trials.json", "report/best.json"} <= files
    assert metrics["held_out.best"] == pytest.approx(COMPARISON.mean)
    assert metrics["held_out.p"] == pytest.approx(COMPARISON.p)

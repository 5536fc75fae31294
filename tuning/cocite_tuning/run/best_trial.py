"""Makes the best trial of a sweep usable: its model, its comparison on held-out queries, its commands, its report."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cocite.errors import InputError, NotFoundError
from cocite.evaluation.significance import Comparison
from cocite.manifests import MANIFEST
from cocite.pipeline.components import component_names
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.report.page import write_artifacts, write_report
from cocite_tuning.run.plan import SweepPlan
from cocite_tuning.run.trial_store import BEST, TrialStore
from cocite_tuning.studies.links import link_artifact
from cocite_tuning.studies.study import Study
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.studies.usage import Exportable, UsageCommands
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.trials import Trial, Trials


def link_model(best: Trial, store: TrialStore, study: Study) -> Path | None:
    """Link the components of the best trial's model into the sweep's folder ``best``.

    Args:
        best: of the trials.
        store: of the trials.
        study: that ran them.

    Returns:
        The folder; None where the trial trained no model.

    Raises:
        NotFoundError: the study trains models, and the trial's is not there.
    """
    source, target = store.trial_folder(best.number), store.folder / BEST
    if isinstance(study, TrainingStudy) and not (source / study.kind / MANIFEST).is_file():
        raise NotFoundError(
            f"the model of trial {best.number}, the best one, is missing",
            where=str(source / study.kind),
            hint="do all nodes share the sweep's folder? name one that they do: --to, with --fresh",
        )
    # A resumed sweep with more trials may have another best one than the sweep that ended here before.
    shutil.rmtree(target, ignore_errors=True)
    components = [source / name for name in component_names() if (source / name / MANIFEST).is_file()]
    if not components:
        return None
    target.mkdir()
    for component in components:
        link_artifact(component, target)
    return target


def make_result(plan: SweepPlan, best: Trial, trials: Trials) -> SweepResult:
    """Compare the best trial with the default on held-out queries, and say how it is used.

    Args:
        plan: of the sweep.
        best: of its trials.
        trials: all of them.
    """
    study, protocol = plan.study, plan.sweep.protocol
    fixed = {"short": protocol.short, "full": protocol.full}.get(best.phase, {}) if protocol else {}
    params = {**fixed, **best.params}
    folder = plan.to / BEST
    comparison: Comparison | None = None
    why_not, usage = "", UsageCommands()
    if not params and not isinstance(study, TrainingStudy):
        usage = UsageCommands(
            notes=("The default is the best of those that were tried: there is nothing to change.",)
        )
    else:
        comparison, why_not = _compare_held_out(study, params, trials.metric)
        if isinstance(study, Exportable):
            study.export(params, folder)
            usage = study.usage(params, plan.corpus, folder)
    return SweepResult(
        **best.model_dump(),
        confirmation=comparison,
        why_not=why_not,
        commands=usage.commands,
        notes=usage.notes,
    )


def write_sweep_report(
    run: MlflowRun, plan: SweepPlan, trials: Trials, result: SweepResult, max_latency_ms: float | None
) -> Path:
    """Write the report into the sweep's folder, and log it with the sweep's files to its MLflow run.

    Returns:
        The page.
    """
    page = write_report(trials, plan.to / "report.html", result=result, max_latency_ms=max_latency_ms)
    if run.id:
        with tempfile.TemporaryDirectory(prefix="cocite-report-") as folder:
            write_artifacts(trials, folder, result=result, max_latency_ms=max_latency_ms)
            run.log_artifact(folder, folder="report")
        run.log_artifact(plan.to / "sweep.json")
        if result.confirmation is not None:
            c = result.confirmation
            run.log_metrics({"held_out.best": c.mean, "held_out.default": c.other, "held_out.p": c.p}, None)
    return page


@runtime_checkable
class _HoldsQueriesOut(Protocol):
    """A study that keeps queries from its trials."""

    def confirm(self, params: Mapping[str, Any], metric: str) -> Comparison: ...


def _compare_held_out(study: Study, params: Mapping[str, Any], metric: str) -> tuple[Comparison | None, str]:
    """Compare a choice of parameters with the default on held-out queries; without a comparison, say why."""
    if not isinstance(study, _HoldsQueriesOut):
        return None, ""
    try:
        return study.confirm(params, metric), ""
    except InputError as error:  # no queries are held out, or the metric is not one of a query's ranking
        return None, f"Not compared with the default on other queries: {error.message}."

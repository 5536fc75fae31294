"""Makes the best trial of a sweep usable: its model, its comparison on held-out queries, its commands, its report."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from cocite.errors import InputError, NotFoundError
from cocite.evaluation.significance import Comparison
from cocite.manifests import MANIFEST
from cocite.pipeline.components import component_names
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import upload_tree
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.report.page import REPORT_FILE, write_artifacts, write_report
from cocite_tuning.run.plan import SweepPlan
from cocite_tuning.run.trial_store import BEST, SWEEP_FILE, TrialStore
from cocite_tuning.studies.links import put_components
from cocite_tuning.studies.study import Study
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.studies.usage import Exportable, UsageCommands
from cocite_tuning.sweep.result import RESULT_FILE, SweepResult
from cocite_tuning.sweep.trials import Trial, Trials

"""The sweep's page, in its folder."""


def link_model(best: Trial, store: TrialStore, study: Study, to: Path) -> Path | None:
    """Put the components of the best trial's model into the sweep's folder ``best``, as links where they can be.

    Args:
        best: of the trials.
        store: of the trials.
        study: that ran them.
        to: folder of the sweep on this machine.

    Returns:
        The folder; None where the trial trained no model.

    Raises:
        NotFoundError: the study trains models, and the trial's is not there.
    """
    source, target = store.trial_place(best.number), to / BEST
    if isinstance(study, TrainingStudy) and (source / study.kind).read(MANIFEST) is None:
        raise NotFoundError(
            f"the model of trial {best.number}, the best one, is missing",
            where=(source / study.kind).uri,
            hint="do all nodes share the sweep's folder? name one that they do: --to, with --fresh",
        )
    # A resumed sweep with more trials may have another best one than the sweep that ended here before.
    shutil.rmtree(target, ignore_errors=True)
    put_components(Location.of(target), source, lambda name: name in component_names())
    return target if target.is_dir() else None


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
        commands=tuple(_as_named(command, plan) for command in usage.commands),
        notes=usage.notes,
    )


def write_sweep_report(
    run: MlflowRun, plan: SweepPlan, trials: Trials, result: SweepResult, max_latency_ms: float | None
) -> Path:
    """Write the report into the sweep's folder, and log it with the sweep's files to its MLflow run.

    Returns:
        The page.
    """
    page = write_report(trials, plan.to / REPORT_FILE, result=result, max_latency_ms=max_latency_ms)
    if run.id:
        with tempfile.TemporaryDirectory(prefix="cocite-report-") as folder:
            write_artifacts(trials, folder, result=result, max_latency_ms=max_latency_ms)
            run.log_artifact(folder, folder="report")
        if plan.place.local is None:
            plan.place.download(plan.to, [SWEEP_FILE])
        run.log_artifact(plan.to / SWEEP_FILE)
        if result.confirmation is not None:
            c = result.confirmation
            run.log_metrics({"held_out.best": c.mean, "held_out.default": c.other, "held_out.p": c.p}, None)
    return page


def upload_results(plan: SweepPlan) -> None:
    """Upload what the functions above left on this machine, where the sweep's folder is elsewhere."""
    if plan.place.local is not None:
        return
    best = plan.place / BEST
    best.clear()
    if (plan.to / BEST).is_dir():
        upload_tree(plan.to / BEST, best)
    plan.place.upload(plan.to, [RESULT_FILE, REPORT_FILE])


def _as_named(command: str, plan: SweepPlan) -> str:
    """A command with the sweep's URI in the place of the temporary folder on this machine."""
    if plan.place.local is not None:
        return command
    here = str(plan.to)
    words = [
        (plan.place / word.removeprefix(f"{here}/")).uri if word.startswith(f"{here}/") else word
        for word in shlex.split(command)
    ]
    return shlex.join(words)


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

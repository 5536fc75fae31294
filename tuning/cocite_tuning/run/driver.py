"""A sweep from its file to its champion.

Everything that can be refused is refused before anything starts; then what the trials share is made, the trials are
run (:mod:`cocite_tuning.run.on_ray`; light ones in this process), the best of them in full where the sweep has a
protocol for that, and the best model contends for its alias.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from cocite.corpus.store import Corpus
from cocite.destinations import check_folder_destination
from cocite.errors import CociteError, ConfigError, InputError
from cocite.evaluation.significance import Comparison
from cocite.manifests import MANIFEST
from cocite.pipeline.components import COMPONENTS
from cocite.write_errors import writing_to
from cocite_jobs.storage.cache import fetch_local
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import MlflowRun, start_run
from cocite_tuning.run.champion import Verdict, contend
from cocite_tuning.run.mlflow_logger import Recorder
from cocite_tuning.run.result import Outcome
from cocite_tuning.run.trial_runner import Conductor, Listener, from_sampler, in_turn
from cocite_tuning.run.trial_store import Ledger
from cocite_tuning.run.trials import LATENCY, Trial, Trials
from cocite_tuning.studies.study import Study
from cocite_tuning.studies.training import TrainingStudy, linked
from cocite_tuning.studies.usage import Locations, Usable, Usage
from cocite_tuning.sweep.sampler import Sampler
from cocite_tuning.sweep.spaces import Space
from cocite_tuning.sweep.sweep import SchedulerSettings, Sweep, checked_space

EXPERIMENT = "tune"
BEST = "best"
"""Folder of a sweep that holds the best trial's model, or what else it leaves to be used."""


@dataclass(frozen=True)
class Manner:
    """How and where to sweep.

    Attributes:
        start: ``new``: only where no sweep is; ``resume``: go on with the one that is there; ``fresh``: in its stead.
        address: of a running Ray cluster; None: see :func:`cocite_jobs.cluster.connection.ray_connection`.
        wait: wait for resources that the cluster does not have yet.
        verbose: let Ray's own log through.
        max_latency_ms: the best trial is the best of those that need no more a query.
        tracking: where MLflow's runs are kept.
    """

    start: Literal["new", "resume", "fresh"] = "new"
    address: str | None = None
    wait: bool = False
    verbose: bool = False
    max_latency_ms: float | None = None
    tracking: TrackingSettings = field(default_factory=TrackingSettings)


@dataclass(frozen=True)
class Swept:
    """What a sweep gives.

    Attributes:
        folder: of the sweep.
        trials: all of them.
        best: the best one, what it is worth on queries that no trial saw, and how it is used.
        model: a folder with its model; None: it trained none.
        verdict: what became of it as a contender; None: it was none.
        report: the page of the sweep.
        run_id: MLflow's id of the sweep's run; empty without tracking.
    """

    folder: Path
    trials: Trials
    best: Outcome
    model: Path | None
    verdict: Verdict | None
    report: Path
    run_id: str


@dataclass(frozen=True)
class Plan:
    """A sweep that can begin: what can be refused was refused."""

    sweep: Sweep
    study: Study
    space: Space
    corpus: str
    to: Path


def planned(sweep: Sweep, corpus: str, to: Path, *, here: bool = True) -> Plan:
    """Look at all of a sweep before anything starts.

    Args:
        sweep: from its file.
        corpus: path or URI of the corpus store.
        to: folder of the sweep; under Ray on several nodes, one that all see.
        here: whether it is to run here; else nobody looks for the corpus.

    Raises:
        ConfigError: the space names a key that the study does not know, or a value that it does not take.
        InputError: parts of the sweep do not fit one another.
    """
    check_folder_destination(to)
    store = fetch_local(corpus) if here else Path(corpus)
    study: Study = sweep.study.open(store, to / "shared")  # type: ignore[attr-defined]
    if isinstance(study, TrainingStudy):
        resources = sweep.resources
        study = replace(
            study, corpus=corpus, workers=resources.workers, cpus=resources.cpus, gpus=resources.gpus
        )
    elif sweep.champion is not None:
        raise ConfigError("only what trains a model has a champion", where="champion", hint="leave it out")
    if study.light and sweep.scheduler.kind != "none":
        raise ConfigError(
            "its trials are over before one could be ended", where="scheduler.kind", hint="none"
        )
    if sweep.champion is not None:
        sweep.champion.check()
    return Plan(sweep, study, checked_space(sweep, study), corpus, to)


def tune(plan: Plan, manner: Manner | None = None, listener: Listener | None = None) -> Swept:
    """Run a sweep, or go on with it, to its end.

    Raises:
        InputError: there is a sweep in the folder already, or none to resume.
        BusyError: another process is at the sweep.
        CociteError: no trial finished, or the folder's disk is full or may not be written.
    """
    manner, listener = manner or Manner(), listener or Listener()
    sweep, study = plan.sweep, plan.study
    store = Corpus.open(fetch_local(plan.corpus))
    with ExitStack() as stack:
        stack.enter_context(writing_to(plan.to))
        ledger = stack.enter_context(
            Ledger.opened(plan.to, sweep, store.version, start=manner.start, patient=study.light)
        )
        run = stack.enter_context(
            start_run(
                sweep.name,
                experiment=EXPERIMENT,
                params=sweep.model_dump(mode="json", by_alias=True, exclude={"space"}),
                tags={"corpus": store.version, "kind": sweep.kind, "sweep": str(plan.to.absolute())},
                tracking=manner.tracking,
                resume=ledger.run_id,
            )
        )
        ledger.keep_run(run.id)
        recorder = Recorder(run, resumed=manner.start == "resume")
        stack.callback(recorder.close)
        if not study.light:
            stack.enter_context(_ray(manner))
        listener.stage("preparing", 0)
        study.prepare()
        _phases(plan, manner, ledger, recorder, listener)
        trials = ledger.trials
        if not trials.ranked:
            raise _none_finished(trials, plan.to)
        limit = {LATENCY: manner.max_latency_ms} if manner.max_latency_ms is not None else None
        best = trials.best(at_most=limit)
        listener.stage("what the best one is worth", 0)
        model = _model_of(best, ledger)
        outcome = _outcome(plan, best, trials)
        outcome.write(plan.to)
        listener.stage("the report", 0)
        report = _keep(run, plan, trials, outcome, manner.max_latency_ms)
        verdict = None
        if sweep.champion is not None and model is not None:
            listener.stage("against the champion", 0)
            verdict = contend(sweep.champion, model, store, manner.tracking, run)
        return Swept(plan.to, trials, outcome, model, verdict, report, run.id)


def _phases(plan: Plan, manner: Manner, ledger: Ledger, recorder: Recorder, listener: Listener) -> None:
    """All trials; of a protocol in two phases, the short ones and then the best in full."""
    sweep, protocol, metric = plan.sweep, plan.sweep.protocol, plan.sweep.metric
    minutes = sweep.budget.minutes
    until = time.monotonic() + 60 * minutes if minutes else math.inf
    sampler = Sampler(plan.space, sweep.search, mode=metric.mode, seed=sweep.seed)
    first: Literal["", "short"] = "short" if protocol else ""
    for trial in ledger.of(first):
        value = ledger.trials.value(trial) if trial.state != "failed" else math.nan
        sampler.tell(trial.number, trial.params, value)
    for number, begun in sorted(ledger.under_way.items()):
        if begun.phase == first:
            sampler.expect(number, begun.params)
    conductor = Conductor(
        ledger,
        recorder,
        from_sampler(sampler, sweep.start),
        total=sweep.budget.trials,
        phase=first,
        fixed=protocol.short if protocol else None,
        until=until,
        sampler=sampler,
        listener=listener,
    )
    _run(plan, manner, conductor, sweep.scheduler)
    if protocol is None:
        return
    short = Trials(sweep=sweep.name, metric=metric.name, mode=metric.mode, trials=tuple(ledger.of("short")))
    taken = [trial.params for trial in ledger.of("full")]
    taken += [each.params for each in ledger.under_way.values() if each.phase == "full"]
    chosen = taken + [t.params for t in short.ranked[: protocol.best] if t.params not in taken]
    conductor = Conductor(
        ledger,
        recorder,
        in_turn(chosen),
        total=len(chosen),
        phase="full",
        fixed=protocol.full,
        until=until,
        listener=listener,
    )
    _run(plan, manner, conductor, SchedulerSettings())


def _run(plan: Plan, manner: Manner, conductor: Conductor, scheduler: SchedulerSettings) -> None:
    """The trials of a phase."""
    conductor.listener.stage(f"{conductor.phase} trials".strip(), conductor.left)
    if plan.study.light:
        _run_here(plan.study, conductor)
        return
    from cocite_tuning.run.on_ray import run_on_ray

    scratch = plan.to / ".tune"
    try:
        run_on_ray(plan.study, conductor, plan.sweep, scheduler=scheduler, scratch=scratch, wait=manner.wait)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        conductor.ledger.prune()


def _run_here(study: Study, conductor: Conductor) -> None:
    """Light trials, one after another in this process."""
    metric = conductor.ledger.sweep.metric.name
    while (order := conductor.next()) is not None:
        number = order.number
        conductor.begin(number)
        try:
            final = study.run(
                order.params,
                lambda metrics, step, number=number: conductor.tell(number, metrics, step),  # type: ignore[misc]
                conductor.ledger.trial_folder(number),
            )
        except CociteError as error:
            conductor.end(number, "failed", {}, str(error))
            continue
        if metric not in final:
            raise ConfigError(f"a trial ends with no metric {metric!r}", where="metric.name",
                              hint=f"it has {', '.join(sorted(final))}")  # fmt: skip
        conductor.end(number, "finished", final)


@contextmanager
def _ray(manner: Manner) -> Iterator[None]:
    from cocite_jobs.cluster.connection import ray_connection

    with ray_connection(manner.address, verbose=manner.verbose):
        yield


def _keep(run: MlflowRun, plan: Plan, trials: Trials, outcome: Outcome, max_latency_ms: float | None) -> Path:
    """Write the report beside the trials, and keep it and the sweep's files in its run; returns the page."""
    from cocite_tuning.report.page import write_artifacts, write_report

    page = write_report(trials, plan.to / "report.html", outcome=outcome, max_latency_ms=max_latency_ms)
    if run.id:
        with tempfile.TemporaryDirectory(prefix="cocite-report-") as folder:
            write_artifacts(trials, folder, outcome=outcome, max_latency_ms=max_latency_ms)
            run.log_artifact(folder, folder="report")
        run.log_artifact(plan.to / "sweep.json")
        if outcome.confirmation is not None:
            c = outcome.confirmation
            run.log_metrics({"held_out.best": c.mean, "held_out.default": c.other, "held_out.p": c.p}, None)
    return page


@runtime_checkable
class _Confirming(Protocol):
    """A study that keeps queries from its trials."""

    def confirm(self, params: Mapping[str, Any], metric: str) -> Comparison: ...


def _outcome(plan: Plan, best: Trial, trials: Trials) -> Outcome:
    """The best trial, against the default on queries that no trial saw, and with what it takes to use it."""
    study, protocol = plan.study, plan.sweep.protocol
    fixed = {"short": protocol.short, "full": protocol.full}.get(best.phase, {}) if protocol else {}
    params = {**fixed, **best.params}
    folder = plan.to / BEST
    confirmation: Comparison | None = None
    why_not, usage = "", Usage()
    if not params and not isinstance(study, TrainingStudy):
        usage = Usage(
            notes=("The default is the best of those that were tried: there is nothing to change.",)
        )
    else:
        confirmation, why_not = _confirmed(study, params, trials.metric)
        if isinstance(study, Usable):
            study.leave(params, folder)
            usage = study.usage(params, Locations(plan.corpus, plan.to, folder))
    return Outcome(
        **best.model_dump(),
        confirmation=confirmation,
        why_not=why_not,
        commands=usage.commands,
        notes=usage.notes,
    )


def _confirmed(study: Study, params: Mapping[str, Any], metric: str) -> tuple[Comparison | None, str]:
    """A choice against the default on queries that no trial saw; where there is no telling, why."""
    if not isinstance(study, _Confirming):
        return None, ""
    try:
        return study.confirm(params, metric), ""
    except InputError as error:  # none were kept, or what is optimised is none of a query's metrics
        return None, f"Not compared with the default on other queries: {error.message}."


def _none_finished(trials: Trials, folder: Path) -> CociteError:
    errors = [trial.error for trial in trials.trials if trial.error]
    why = f"; the last one failed: {errors[-1]}" if errors else ""
    return CociteError(f"no trial finished with the metric {trials.metric!r}{why}", where=str(folder))


def _model_of(best: Trial, ledger: Ledger) -> Path | None:
    """The best trial's model folder, without what is not part of a model; None: it trained none."""
    source, target = ledger.trial_folder(best.number), ledger.folder / BEST
    shutil.rmtree(target, ignore_errors=True)  # another trial's, of the same sweep with fewer trials
    parts = [source / name for name in COMPONENTS if (source / name / MANIFEST).is_file()]
    if not parts:
        return None
    target.mkdir()
    for part in parts:
        linked(part, target)
    return target

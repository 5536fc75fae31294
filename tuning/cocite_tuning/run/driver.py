"""Runs a sweep from its plan to its result.

The driver prepares what the trials share, runs the trials, makes the best of them usable, writes the report, and lets
the best model take its registered alias if it is better than the present holder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite.write_errors import writing_to
from cocite_jobs.cluster.connection import joins_cluster
from cocite_jobs.storage.cache import fetch_local
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.runs import start_run
from cocite_tuning.run.best_trial import link_model, make_result, upload_results, write_sweep_report
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.champion import ChampionOnWorker, promote_if_better
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.phases import run_phases
from cocite_tuning.run.plan import SweepPlan
from cocite_tuning.run.trial_store import BEST, TrialStore
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.sweep.promotion import PromotionResult
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.trials import LATENCY, Trials

EXPERIMENT = "tune"
IN_PROCESS_FLUSH_S = 1.0
"""Seconds between two writes of in-process trials' files; a sweep that dies repeats the trials of that time."""


@dataclass(frozen=True)
class SweepOptions:
    """How and where a sweep runs.

    Attributes:
        start: ``new``: only where there is no sweep; ``resume``: continue the sweep that is there; ``fresh``: replace
            it.
        address: of a running Ray cluster; None: see :func:`cocite_jobs.cluster.connection.ray_connection`.
        wait: wait for resources that the cluster does not have yet.
        verbose: show Ray's own log.
        max_latency_ms: the best trial is the best of those within so many milliseconds per query.
        tracking: where MLflow's runs are kept.

    Example:
        >>> options = SweepOptions(start="resume", max_latency_ms=50)
        >>> options.address is None  # a private Ray, unless RAY_ADDRESS names one
        True
    """

    start: Literal["new", "resume", "fresh"] = "new"
    address: str | None = None
    wait: bool = False
    verbose: bool = False
    max_latency_ms: float | None = None
    tracking: TrackingSettings = field(default_factory=TrackingSettings)


@dataclass(frozen=True)
class FinishedSweep:
    """A sweep that has run to its end.

    Attributes:
        folder: of the sweep: a path, or a URI.
        trials: all of them.
        best: the best trial, with its comparison on held-out queries and the commands that use it.
        model: the folder of its model, likewise; None where the study trains none.
        promotion: who holds the champion's alias now; None where the sweep has no champion.
        report: the sweep's page, likewise.
        run_id: MLflow's id of the sweep's run; empty without tracking.

    Example:
        What ``cocite tune run`` prints at the end of a sweep:

        >>> best = SweepResult(number=7, params={"k1": 2.1}, metrics={"MRR": 0.31}, commands=("cocite index build",))
        >>> trials = Trials(sweep="words", metric="MRR", trials=(best,))
        >>> finished = FinishedSweep(
        ...     Path("sweeps/words"), trials, best, None, None, Path("sweeps/words/report.html"), run_id=""
        ... )
        >>> finished.trials.value(finished.best), finished.best.commands[0]
        (0.31, 'cocite index build')
    """

    folder: Path | str
    trials: Trials
    best: SweepResult
    model: Path | str | None
    promotion: PromotionResult | None
    report: Path | str
    run_id: str


def run_sweep(
    plan: SweepPlan, options: SweepOptions | None = None, callback: SweepCallback | None = None
) -> FinishedSweep:
    """Run a sweep, or continue it, to its end.

    Args:
        plan: of the sweep.
        options: how and where it runs.
        callback: called as it progresses.

    Raises:
        InputError: the folder already holds a sweep, or none that could be resumed.
        BusyError: another process runs the sweep.
        NotFoundError: the best trial's model is not in the folder.
        CociteError: no trial finished, or the folder's disk is full or may not be written.
    """
    options, callback = options or SweepOptions(), callback or SweepCallback()
    sweep, study = plan.sweep, plan.study
    corpus = Corpus.open(fetch_local(plan.corpus))
    with ExitStack() as stack:
        stack.enter_context(writing_to(plan.to))
        flush_interval = IN_PROCESS_FLUSH_S if study.in_process else 0.0
        store = stack.enter_context(
            TrialStore.opened(
                plan.folder, sweep, corpus.version, start=options.start, flush_interval=flush_interval
            )
        )
        run = stack.enter_context(
            start_run(
                sweep.name,
                experiment=EXPERIMENT,
                params=sweep.model_dump(mode="json", by_alias=True, exclude={"space"}),
                tags={"corpus": corpus.version, "kind": sweep.kind, "sweep": plan.place.uri},
                tracking=options.tracking,
                resume=store.run_id,
            )
        )
        store.set_run_id(run.id)
        mlflow_logger = MlflowLogger(run, resumed=options.start == "resume")
        stack.callback(mlflow_logger.close)
        if not study.in_process:
            stack.enter_context(_connected_to_ray(options))
        callback.on_stage("preparing", 0)
        study.prepare(wait=options.wait)
        run_phases(plan, store, mlflow_logger, callback, wait=options.wait)
        trials = store.trials
        if not trials.ranked:
            raise _none_finished(trials, plan.folder)
        limits = {LATENCY: options.max_latency_ms} if options.max_latency_ms is not None else None
        best = trials.best(at_most=limits)
        callback.on_stage("what the best one is worth", 0)
        model = link_model(best, store, study, plan.to)
        result = make_result(plan, best, trials)
        result.write(plan.to)
        callback.on_stage("the report", 0)
        report = write_sweep_report(run, plan, trials, result, options.max_latency_ms)
        promotion = None
        if sweep.champion is not None and model is not None:
            callback.on_stage("against the champion", 0)
            promotion = promote_if_better(
                sweep.champion, model, corpus, options.tracking, run, _on_worker(plan, options)
            )
        upload_results(plan)
        if plan.place.local is not None:
            return FinishedSweep(plan.to, trials, result, model, promotion, report, run.id)
        named = (plan.place / BEST).uri if model is not None else None
        page = (plan.place / report.name).uri
        return FinishedSweep(plan.place.uri, trials, result, named, promotion, page, run.id)


@contextmanager
def _connected_to_ray(options: SweepOptions) -> Iterator[None]:
    from cocite_jobs.cluster.connection import ray_connection  # Ray takes seconds to import

    with ray_connection(options.address, verbose=options.verbose):
        yield


def _on_worker(plan: SweepPlan, options: SweepOptions) -> ChampionOnWorker | None:
    """Where a worker compares the best model with the champion, and asks it golden queries; None: no cluster."""
    if not (isinstance(plan.study, TrainingStudy) and joins_cluster()):
        return None
    return ChampionOnWorker(plan.place, plan.corpus, plan.study.worker, options.wait)


def _none_finished(trials: Trials, folder: Path | str) -> CociteError:
    errors = [trial.error for trial in trials.trials if trial.error]
    why = f"; the last one failed: {errors[-1]}" if errors else ""
    return CociteError(f"no trial finished with the metric {trials.metric!r}{why}", where=str(folder))

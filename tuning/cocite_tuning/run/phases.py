"""Runs the trials of a sweep: all in one phase, or short ones first and then the best of them in full."""

from __future__ import annotations

import math
import time

from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.in_process import run_in_process
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.plan import SweepPlan
from cocite_tuning.run.trial_runner import TrialRunner, draw_after, take_in_turn
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.sweep.sampler import Sampler
from cocite_tuning.sweep.sweep import SchedulerSettings
from cocite_tuning.sweep.trials import Phase, Trials


def run_phases(
    plan: SweepPlan,
    store: TrialStore,
    mlflow_logger: MlflowLogger,
    callback: SweepCallback,
    *,
    wait: bool = False,
) -> None:
    """Run all trials that the store does not hold yet.

    Args:
        plan: of the sweep.
        store: its trials, those of earlier calls included.
        mlflow_logger: of the trials.
        callback: called as they progress.
        wait: wait for resources that the Ray cluster does not have yet.
    """
    sweep, protocol = plan.sweep, plan.sweep.protocol
    minutes = sweep.budget.minutes
    until = time.monotonic() + 60 * minutes if minutes else math.inf
    first_phase: Phase = "short" if protocol else ""
    sampler = _sampler(plan, store, first_phase)
    runner = TrialRunner(
        store,
        mlflow_logger,
        draw_after(sweep.start, sampler),
        total=sweep.budget.trials,
        phase=first_phase,
        fixed=protocol.short if protocol else None,
        until=until,
        sampler=sampler,
        callback=callback,
    )
    _run_phase(plan, runner, sweep.scheduler, wait=wait)
    if protocol is None:
        return
    metric = sweep.metric
    short = Trials(
        sweep=sweep.name, metric=metric.name, mode=metric.mode, trials=tuple(store.ended_in("short"))
    )
    # A resumed sweep keeps the full trials that it has, even if further short ones did better since.
    chosen = [trial.params for trial in store.ended_in("full")]
    chosen += [trial.params for trial in store.running.values() if trial.phase == "full"]
    chosen += [trial.params for trial in short.ranked[: protocol.best] if trial.params not in chosen]
    runner = TrialRunner(
        store,
        mlflow_logger,
        take_in_turn(chosen),
        total=len(chosen),
        phase="full",
        fixed=protocol.full,
        until=until,
        callback=callback,
    )
    _run_phase(plan, runner, SchedulerSettings(), wait=wait)


def _sampler(plan: SweepPlan, store: TrialStore, phase: Phase) -> Sampler:
    """A sampler that knows the trials of a phase: those that ended, and those that an interrupted sweep left."""
    sweep = plan.sweep
    sampler = Sampler(plan.space, sweep.search, mode=sweep.metric.mode, seed=sweep.seed)
    for trial in store.ended_in(phase):
        value = store.trials.value(trial) if trial.state != "failed" else math.nan
        sampler.observe(trial.number, trial.params, value)
    for number, running in sorted(store.running.items()):
        if running.phase == phase:
            sampler.add_running(number, running.params)
    return sampler


def _run_phase(plan: SweepPlan, runner: TrialRunner, scheduler: SchedulerSettings, *, wait: bool) -> None:
    """Run the trials of a phase in this process or on Ray."""
    runner.callback.on_stage(f"{runner.phase} trials".strip(), runner.remaining)
    if plan.study.in_process:
        run_in_process(plan.study, runner)
        return
    from cocite_tuning.run.on_ray import run_on_ray  # Ray takes seconds to import

    scratch = plan.place / ".tune"
    try:
        run_on_ray(plan.study, runner, plan.sweep, scheduler=scheduler, scratch=scratch, wait=wait)
    finally:
        # Tune's own record is of no use: a resumed sweep starts from the trial store.
        scratch.clear()
        runner.store.prune()

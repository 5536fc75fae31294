"""Trials on Ray: Tune places them, ends the hopeless ones, and takes up those whose process died.

Tune keeps no state of its own that is needed again: which trials there were is in the sweep's folder
(:mod:`cocite_tuning.run.trial_store`), and a sweep that is resumed is a new run of Tune that is told of them. So it
does not matter how the driver, or all of Ray, came to its end, nor whether Tune had just written its books.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from cocite.errors import CociteError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.resources import check_resources, worker_capacity
from cocite_jobs.training.on_ray import reap_placement_groups
from cocite_tuning.run.trial_runner import Conductor
from cocite_tuning.studies.study import Study
from cocite_tuning.sweep.sweep import MetricSettings, SchedulerSettings, Sweep

VARIABLES = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # an interrupt ends the driver as it ends any other command
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a loss between two looks at dev is no decision's ground
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    "TUNE_FORCE_TRIAL_CLEANUP_S": "10",  # a trial in the middle of a batch does not hear that it was stopped
    "RAY_AIR_NEW_OUTPUT": "0",  # the other one prints whatever it is told
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a sweep's relative paths mean the same in its trials
}
DRIVER = {"memory": 256 * 2**20}
"""What a trial with workers of its own asks for itself: no CPU, else trials could hold those that workers wait for."""
DEATH = ("The actor died", "The actor is dead", "actor is temporarily unavailable")
"""Ray's words for a process that ended without an exception of its own."""
STEP, METRICS, FINAL, ERROR = "step", "metrics", "final", "error"
"""Keys of what a trial reports, beside the sweep's metric."""


def run_on_ray(
    study: Study,
    conductor: Conductor,
    sweep: Sweep,
    *,
    scheduler: SchedulerSettings,
    scratch: Path,
    wait: bool,
) -> None:
    """Run all trials of a phase on the Ray that this process is connected to.

    Args:
        study: what a trial does; it travels to the trials' processes.
        conductor: which trials, and who hears of them.
        sweep: resources, retries, concurrency.
        scheduler: who ends trials early.
        scratch: for Tune's own files, which nobody needs again; a folder that all nodes share.
        wait: wait for resources that the cluster does not have yet.

    Raises:
        InputError: the cluster has no room for a trial.
    """
    import ray

    needs = WorkerSettings(
        count=sweep.resources.workers, cpus=sweep.resources.cpus, gpus=sweep.resources.gpus
    )
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not wait:
        check_resources(needs, nodes)
    if not conductor.left:
        return
    at_once = sweep.budget.concurrency or max(1, worker_capacity(needs, nodes) // sweep.resources.workers)
    alone = sweep.resources.workers == 1
    with _environment(VARIABLES), nullcontext() if alone else reap_placement_groups():
        from ray import tune

        # What becomes of each trial is told by who hears of it here.
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)

        own = {"cpu": sweep.resources.cpus, "gpu": sweep.resources.gpus} if alone else DRIVER
        tune.Tuner(
            tune.with_resources(_trainable(study, sweep.metric, conductor.ledger.trial_folder), own),
            tune_config=tune.TuneConfig(
                search_alg=_source(conductor),
                scheduler=_scheduler(scheduler, sweep.metric, conductor),
                num_samples=conductor.left,
                max_concurrent_trials=at_once,
                reuse_actors=alone,  # a process takes seconds to start; one whose trial failed is not used again
                trial_name_creator=lambda trial: f"trial-{trial.config['number']:04d}",
                trial_dirname_creator=lambda trial: f"{trial.config['number']:04d}",
            ),
            run_config=tune.RunConfig(
                name=conductor.phase or "trials",
                storage_path=str(scratch.absolute()),
                failure_config=tune.FailureConfig(max_failures=sweep.retries),
                callbacks=[_ears(conductor)],
                verbose=0,
                log_to_file=False,
            ),
        ).fit()


def _trainable(
    study: Study, metric: MetricSettings, folder: Callable[[int], Path]
) -> Callable[[dict[str, Any]], None]:
    """What Ray runs for a trial, in a process of its own."""

    def trial(config: dict[str, Any]) -> None:
        from ray import tune

        better = max if metric.mode == "max" else min
        best: float | None = None
        last = 0

        def report(metrics: dict[str, float], step: int) -> None:
            nonlocal best, last
            last = step
            told: dict[str, Any] = {STEP: step, METRICS: dict(metrics)}
            value = metrics.get(metric.name)
            if value is not None and value == value:
                # What a training keeps is its best, so that is what a trial is worth so far.
                best = value if best is None else better(best, value)
                told[metric.name] = best
            tune.report(told)

        try:
            final = study.run(config["params"], report, folder(config["number"]))
        except CociteError as error:  # it would only come again: no retry
            tune.report({STEP: last, ERROR: str(error), FINAL: True})
            return
        if metric.name not in final:
            known = ", ".join(sorted(final))
            message = f"a trial ends with no metric {metric.name!r} (it has {known})"
            tune.report({STEP: last, ERROR: message, FINAL: True})
            return
        tune.report({STEP: last, metric.name: final[metric.name], METRICS: final, FINAL: True})

    return trial


def _source(conductor: Conductor) -> Any:
    """Where Tune gets its trials from."""
    from ray.tune.search import Searcher

    class Source(Searcher):  # type: ignore[misc]
        """Asks the conductor; who also hears what becomes of the trials."""

        def suggest(self, trial_id: str) -> Any:  # noqa: ARG002
            """The next trial."""
            order = conductor.next()
            return Searcher.FINISHED if order is None else {"number": order.number, "params": order.params}

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            """Told elsewhere."""

        def save(self, checkpoint_path: str) -> None:
            """Nothing: see the module."""

        def __reduce__(self) -> Any:
            return Searcher, ()  # Tune pickles what it was started with

    return Source(conductor.ledger.sweep.metric.name, conductor.ledger.sweep.metric.mode)


def _ears(conductor: Conductor) -> Any:
    """Hears what Tune tells of the trials."""
    from ray.tune import Callback

    metric = conductor.ledger.sweep.metric.name

    class Ears(Callback):  # type: ignore[misc]
        """Tells the conductor."""

        def on_trial_start(self, trial: Any, **_: Any) -> None:
            conductor.begin(trial.config["number"])

        def on_trial_result(self, trial: Any, result: Mapping[str, Any], **_: Any) -> None:
            if METRICS in result and FINAL not in result:
                conductor.tell(trial.config["number"], dict(result[METRICS]), int(result[STEP]))

        def on_trial_recover(self, trial: Any, **_: Any) -> None:
            conductor.listener.again(trial.config["number"])

        def on_trial_complete(self, trial: Any, **_: Any) -> None:
            number, last = trial.config["number"], trial.last_result
            if ERROR in last:
                conductor.end(number, "failed", {}, last[ERROR])
            elif FINAL in last:
                conductor.end(number, "finished", last[METRICS])
            else:
                conductor.end(number, "stopped", {**last[METRICS], metric: last[metric]})  # its best so far

        def on_trial_error(self, trial: Any, **_: Any) -> None:
            conductor.end(trial.config["number"], "failed", {}, _sentence(trial.error_file))

        def __reduce__(self) -> Any:
            return Callback, ()

    return Ears()


def _scheduler(settings: SchedulerSettings, metric: MetricSettings, conductor: Conductor) -> Any:
    """Who ends trials early; told of the curves of the trials before."""
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    if settings.kind == "none":
        return FIFOScheduler()
    asha = ASHAScheduler(
        time_attr=STEP,
        metric=metric.name,
        mode=metric.mode,
        max_t=settings.longest,
        grace_period=settings.grace,
        reduction_factor=settings.reduction,
        stop_last_trials=False,  # a trial's length is its own
    )
    better = max if metric.mode == "max" else min
    sign = 1 if metric.mode == "max" else -1
    (bracket,) = asha._brackets
    for earlier in conductor.ledger.of(conductor.phase):
        best = None
        for step, metrics in earlier.curve:
            if metric.name in metrics:
                best = metrics[metric.name] if best is None else better(best, metrics[metric.name])
                bracket.on_result(_Named(str(earlier.number)), step, sign * best)
    return asha


class _Named:
    """As much of a trial as ASHA looks at."""

    def __init__(self, name: str) -> None:
        self.trial_id = name


def _sentence(file: str | None) -> str:
    """The last error that Tune has written of a trial, in a line."""
    try:
        text = Path(file or "").read_text(encoding="utf-8", errors="replace").rpartition("Failure # ")[2]
    except OSError:
        return "it failed, and Tune does not say why"
    if any(words in text for words in DEATH):
        return "its process died once more, after all retries"
    return text.strip().splitlines()[-1]


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    new = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)

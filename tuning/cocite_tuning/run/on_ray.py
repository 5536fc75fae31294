"""Runs trials on Ray: Tune places them, ends those that lag behind, and restarts those whose process died.

Nothing that Tune saves is read again: the trials are in the sweep's folder (:mod:`cocite_tuning.run.trial_store`), and
a resumed sweep is a new run of Tune whose scheduler and sampler are given the earlier trials. So it does not matter how
the driver, or all of Ray, ended, nor whether Tune had just saved its state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cocite.errors import CociteError
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.environment import default_environment
from cocite_jobs.cluster.resources import check_resources, worker_capacity, worker_resources
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.shared_folder import SharedFolder
from cocite_jobs.training.on_ray import reap_placement_groups
from cocite_tuning.run.node_check import check_nodes
from cocite_tuning.run.trial_runner import TrialRunner
from cocite_tuning.studies.study import Study
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.sweep.sweep import MetricSettings, SchedulerSettings, Sweep

VARIABLES = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # an interrupt ends the driver as it ends any other command
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a step between two evaluations reports a loss alone
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    "TUNE_FORCE_TRIAL_CLEANUP_S": "10",  # a trial in the middle of a batch does not notice that it was stopped
    "RAY_AIR_NEW_OUTPUT": "0",  # the new output prints every result
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # a sweep's relative paths mean the same in its trials
}
TRIAL_DRIVER = {"memory": 256 * 2**20}
"""Resources of the process of a trial that has workers: no CPU, else trials could hold those that workers wait for."""
PROCESS_DEATH = ("The actor died", "The actor is dead", "actor is temporarily unavailable")
"""Parts of Ray's messages about a process that ended without a Python exception."""
STEP, METRICS, FINAL, ERROR = "step", "metrics", "final", "error"
"""Keys of what a trial reports, beside the sweep's metric."""


def run_on_ray(
    study: Study,
    runner: TrialRunner,
    sweep: Sweep,
    *,
    scheduler: SchedulerSettings,
    scratch: Location,
    wait: bool,
) -> None:
    """Run all trials of a phase on the Ray that this process is connected to.

    Args:
        study: runs each trial; it is pickled for the trials' processes.
        runner: hands out the trials and records them.
        sweep: its resources, retries and concurrency.
        scheduler: whether and when trials are ended early.
        scratch: for Tune's own files, which are not read again; a folder that all nodes share.
        wait: wait for resources that the cluster does not have yet.

    Raises:
        InputError: the cluster has no room for a trial, or a node does not see the sweep's folder.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    gpus, accelerator = sweep.resources.gpus or 0, None
    if isinstance(study, TrainingStudy):
        study = study.on_cluster(nodes)
        gpus, accelerator = study.gpus or 0, study.accelerator
    trial_workers = WorkerSettings(
        count=sweep.resources.workers, cpus=sweep.resources.cpus, gpus=gpus, accelerator=accelerator
    )
    if not wait:
        check_resources(trial_workers, nodes)
    if not runner.remaining:
        return
    shared = SharedFolder.marked(runner.store.place, "the sweep's folder")
    check_nodes(shared)
    concurrency = sweep.budget.concurrency or max(
        1, worker_capacity(trial_workers, nodes) // sweep.resources.workers
    )
    single_worker = sweep.resources.workers == 1
    with default_environment(VARIABLES), nullcontext() if single_worker else reap_placement_groups():
        from ray import tune

        # The callback below reports how each trial ends.
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)

        trial_resources = _trial_resources(trial_workers) if single_worker else TRIAL_DRIVER
        tune.Tuner(
            tune.with_resources(
                _trainable(study, sweep.metric, runner.store.trial_folder, shared), trial_resources
            ),
            tune_config=tune.TuneConfig(
                search_alg=_searcher(runner),
                scheduler=_scheduler(scheduler, sweep.metric, runner),
                num_samples=runner.remaining,
                max_concurrent_trials=concurrency,
                reuse_actors=single_worker,  # a process takes seconds to start; Tune replaces one whose trial failed
                trial_name_creator=lambda trial: f"trial-{trial.config['number']:04d}",
                trial_dirname_creator=lambda trial: f"{trial.config['number']:04d}",
            ),
            run_config=tune.RunConfig(
                name=runner.phase or "trials",
                storage_path=scratch.path,
                storage_filesystem=scratch.files,
                failure_config=tune.FailureConfig(max_failures=sweep.retries),
                callbacks=[_tune_callback(runner)],
                verbose=0,
                log_to_file=False,
            ),
        ).fit()


def _trial_resources(worker: WorkerSettings) -> dict[str, float]:
    """What a trial of one worker reserves, by Tune's names of resources."""
    tunes = {"CPU": "cpu", "GPU": "gpu"}
    return {tunes.get(name, name): amount for name, amount in worker_resources(worker).items()}


def _trainable(
    study: Study, metric: MetricSettings, folder: Callable[[int], Path | str], shared: SharedFolder
) -> Callable[[dict[str, Any]], None]:
    """The function that Ray runs for each trial, in a process of its own."""

    def trial(config: dict[str, Any]) -> None:
        from ray import tune

        better = max if metric.mode == "max" else min
        best: float | None = None
        last = 0

        def report(metrics: dict[str, float], step: int) -> None:
            nonlocal best, last
            last = step
            result: dict[str, Any] = {STEP: step, METRICS: dict(metrics)}
            value = metrics.get(metric.name)
            # NaN differs from itself, and is no value to be the best.
            if value is not None and value == value:
                # A training keeps its best weights, so the best value so far is what the trial would end with.
                best = value if best is None else better(best, value)
                result[metric.name] = best
            tune.report(result)

        try:
            shared.check("a trial's node")
            final = study.run(config["params"], report, folder(config["number"]))
        except CociteError as error:  # a retry would fail alike
            tune.report({STEP: last, ERROR: str(error), FINAL: True})
            return
        if metric.name not in final:
            names = ", ".join(sorted(final))
            message = f"a trial ends with no metric {metric.name!r} (it has {names})"
            tune.report({STEP: last, ERROR: message, FINAL: True})
            return
        tune.report({STEP: last, metric.name: final[metric.name], METRICS: final, FINAL: True})

    return trial


def _searcher(runner: TrialRunner) -> Any:
    """The search algorithm through which Tune gets its trials from the runner."""
    from ray.tune.search import Searcher

    class TrialSearcher(Searcher):  # type: ignore[misc]
        """Suggests the runner's trials; their results reach the runner through the callback."""

        def suggest(self, trial_id: str) -> Any:  # noqa: ARG002
            """The next trial."""
            spec = runner.next_trial()
            return Searcher.FINISHED if spec is None else {"number": spec.number, "params": spec.params}

        def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
            """Do nothing: see the class."""

        def save(self, checkpoint_path: str) -> None:
            """Save nothing: see the module."""

        def __reduce__(self) -> Any:
            return Searcher, ()  # Tune pickles its arguments; this state is not read again

    return TrialSearcher(runner.store.sweep.metric.name, runner.store.sweep.metric.mode)


def _tune_callback(runner: TrialRunner) -> Any:
    """The callback through which Tune's results reach the runner."""
    from ray.tune import Callback

    metric = runner.store.sweep.metric.name

    class TuneCallback(Callback):  # type: ignore[misc]
        """Passes each event of a trial to the runner."""

        def on_trial_start(self, trial: Any, **_: Any) -> None:
            runner.start(trial.config["number"])

        def on_trial_result(self, trial: Any, result: Mapping[str, Any], **_: Any) -> None:
            if METRICS in result and FINAL not in result:
                runner.report(trial.config["number"], dict(result[METRICS]), int(result[STEP]))

        def on_trial_recover(self, trial: Any, **_: Any) -> None:
            runner.callback.on_trial_restart(trial.config["number"])

        def on_trial_complete(self, trial: Any, **_: Any) -> None:
            number, last = trial.config["number"], trial.last_result
            if ERROR in last:
                runner.finish(number, "failed", {}, last[ERROR])
            elif FINAL in last:
                runner.finish(number, "finished", last[METRICS])
            else:
                runner.finish(number, "stopped", {**last[METRICS], metric: last[metric]})  # its best so far

        def on_trial_error(self, trial: Any, **_: Any) -> None:
            runner.finish(trial.config["number"], "failed", {}, _last_error(trial.error_file))

        def __reduce__(self) -> Any:
            return Callback, ()

    return TuneCallback()


def _scheduler(settings: SchedulerSettings, metric: MetricSettings, runner: TrialRunner) -> Any:
    """The scheduler that ends trials early, given the curves of the trials that ended before."""
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
        stop_last_trials=False,  # the recipe decides how long a trial is
    )
    better = max if metric.mode == "max" else min
    sign = 1 if metric.mode == "max" else -1
    # ASHA has no public way to take results that an earlier process reported.
    (bracket,) = asha._brackets
    for earlier in runner.store.ended_in(runner.phase):
        best = None
        for step, metrics in earlier.curve:
            if metric.name in metrics:
                best = metrics[metric.name] if best is None else better(best, metrics[metric.name])
                # A bracket takes the greatest for the best.
                bracket.on_result(_TrialId(str(earlier.number)), step, sign * best)
    return asha


class _TrialId:
    """The only part of a trial that ASHA reads when it records a result."""

    def __init__(self, name: str) -> None:
        self.trial_id = name


def _last_error(file: str | None) -> str:
    """The last error in the error file that Tune wrote for a trial, as one line."""
    try:
        text = Path(file or "").read_text(encoding="utf-8", errors="replace").rpartition("Failure # ")[2]
    except OSError:
        return "it failed, and Tune does not say why"
    if any(words in text for words in PROCESS_DEATH):
        return "its process died once more, after all retries"
    return text.strip().splitlines()[-1]

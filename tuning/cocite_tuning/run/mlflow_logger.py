"""Logs a sweep to MLflow: one run for the sweep and one within it for each trial, however often either is resumed."""

from __future__ import annotations

from cocite_mlflow.runs import MlflowRun
from cocite_tuning.run.trial_store import RunningTrial
from cocite_tuning.sweep.trials import Trial, Trials


class MlflowLogger:
    """Logs the trials of a sweep as runs within the sweep's run.

    Args:
        run: of the sweep; one without an id logs nothing.
        resumed: whether trials may have runs from before, whether or not the trial store has their ids.

    Example:
        Without tracking, a sweep's run has no id, and neither have its trials':

        >>> logger = MlflowLogger(MlflowRun())
        >>> logger.start(RunningTrial(0, {"k1": 1.2}))
        ''
        >>> logger.log_metrics(0, {"MRR": 0.2}, step=1)
        >>> logger.close()
    """

    def __init__(self, run: MlflowRun, *, resumed: bool = False) -> None:
        self.run = run
        self._earlier_ids = run.child_ids() if resumed else {}
        self._open: dict[int, MlflowRun] = {}

    def start(self, trial: RunningTrial) -> str:
        """Start or resume the run of a trial.

        Returns:
            The run's id.
        """
        if trial.number not in self._open:
            name = f"trial {trial.number:04d}"
            tags = {"phase": trial.phase} if trial.phase else {}
            child = self.run.start_child(
                name, trial.params, tags=tags, resume=self._earlier_ids.get(name, "")
            )
            self._open[trial.number] = child
            # The trial store may hold metrics that did not reach MLflow before the driver died.
            for step, metrics in trial.curve:
                child.log_metrics(metrics, step)
        return self._open[trial.number].id

    def log_metrics(self, number: int, metrics: dict[str, float], step: int) -> None:
        """Log metrics at a step of a trial."""
        self._open[number].log_metrics(metrics, step)

    def finish(self, trial: Trial, trials: Trials) -> None:
        """Log the final metrics and the state of a trial; if it is the best so far, its value in the sweep's run."""
        child = self._open.pop(trial.number)
        prefix = "best." if trial.curve else ""  # apart from the curve, whose metrics have the same names
        child.log_metrics({f"{prefix}{name}": value for name, value in trial.metrics.items()})
        child.set_tag("state", trial.state)
        if trial.error:
            child.set_tag("error", trial.error[:500])
        child.end("FAILED" if trial.state == "failed" else "FINISHED")
        if trials.ranked and trials.ranked[0].number == trial.number:
            self.run.log_metrics({f"best.{trials.metric}": trials.value(trial)}, trial.number)

    def close(self) -> None:
        """End the runs that are still open as killed: the sweep ends or is interrupted."""
        for child in self._open.values():
            child.end("KILLED")
        self._open.clear()

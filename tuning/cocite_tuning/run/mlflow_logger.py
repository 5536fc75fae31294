"""A sweep in MLflow: a run for the sweep, and within it a run for each trial, however often either was taken up."""

from __future__ import annotations

from cocite_mlflow.runs import MlflowRun
from cocite_tuning.run.trial_store import Begun
from cocite_tuning.run.trials import Trial, Trials


class Recorder:
    """Keeps the trials of a sweep in its run.

    Args:
        run: the sweep's own.
        resumed: whether trials may have runs from before, known to the ledger or not.
    """

    def __init__(self, run: MlflowRun, *, resumed: bool = False) -> None:
        self.run = run
        self._known = run.child_ids() if resumed else {}
        self._open: dict[int, MlflowRun] = {}

    def begin(self, begun: Begun) -> str:
        """Begin, or take up again, the run of a trial; returns its id."""
        if begun.number not in self._open:
            name = f"trial {begun.number:04d}"
            tags = {"phase": begun.phase} if begun.phase else {}
            child = self.run.start_child(name, begun.params, tags=tags, resume=self._known.get(name, ""))
            self._open[begun.number] = child
            for step, metrics in begun.curve:  # what was told but not kept when the driver died
                child.log_metrics(metrics, step)
        return self._open[begun.number].id

    def tell(self, number: int, metrics: dict[str, float], step: int) -> None:
        """Metrics at a step of a trial."""
        self._open[number].log_metrics(metrics, step)

    def end(self, trial: Trial, trials: Trials) -> None:
        """Keep what became of a trial, and the best value so far in the sweep's run."""
        child = self._open.pop(trial.number)
        prefix = "best." if trial.curve else ""  # beside a curve of the same name
        child.log_metrics({f"{prefix}{name}": value for name, value in trial.metrics.items()})
        child.set_tag("state", trial.state)
        if trial.error:
            child.set_tag("error", trial.error[:500])
        child.end("FAILED" if trial.state == "failed" else "FINISHED")
        if trials.ranked and trials.ranked[0].number == trial.number:
            self.run.log_metrics({f"best.{trials.metric}": trials.value(trial)}, trial.number)

    def close(self) -> None:
        """The sweep ends, or is interrupted: what is still open was killed."""
        for child in self._open.values():
            child.end("KILLED")
        self._open.clear()

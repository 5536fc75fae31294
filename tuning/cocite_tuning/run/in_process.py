"""Runs trials one after another in this process: those that take well under a second."""

from __future__ import annotations

from cocite.errors import CociteError, ConfigError
from cocite_tuning.run.trial_runner import TrialRunner
from cocite_tuning.studies.study import Study


def run_in_process(study: Study, runner: TrialRunner) -> None:
    """Run all trials of a phase.

    Args:
        study: runs each trial; a :class:`~cocite.errors.CociteError` of it makes the trial a failed one.
        runner: hands out the trials and records them.

    Raises:
        ConfigError: a trial's final metrics lack the one that the sweep optimises.
    """
    metric = runner.store.sweep.metric.name
    while (spec := runner.next_trial()) is not None:
        number = spec.number
        runner.start(number)
        try:
            final = study.run(
                spec.params,
                lambda metrics, step, number=number: runner.report(number, metrics, step),  # type: ignore[misc]
                runner.store.trial_folder(number),
            )
        except CociteError as error:
            runner.finish(number, "failed", {}, str(error))
            continue
        if metric not in final:
            raise ConfigError(
                f"a trial ends with no metric {metric!r}",
                where="metric.name",
                hint=f"it has {', '.join(sorted(final))}",
            )
        runner.finish(number, "finished", final)

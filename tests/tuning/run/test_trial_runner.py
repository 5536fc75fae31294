"""Which trial is next, and what is recorded of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers.toy_study import TOY

from cocite_mlflow.runs import MlflowRun
from cocite_tuning.run.callback import SweepCallback
from cocite_tuning.run.mlflow_logger import MlflowLogger
from cocite_tuning.run.trial_runner import TrialRunner, TrialSpec, draw_after, take_in_turn
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.sweep.sampler import Sampler
from cocite_tuning.sweep.spaces import Space
from cocite_tuning.sweep.sweep import Sweep

LOGGER = MlflowLogger(MlflowRun())


@contextmanager
def store_of(folder: Path, start: str = "new", **changed: Any) -> Iterator[TrialStore]:
    with TrialStore.opened(folder, Sweep.parse(TOY | changed), "c1", start=start) as store:  # type: ignore[arg-type]
        yield store


def test_interrupted_trials_come_first_and_keep_their_numbers_and_parameters(empty: Path) -> None:
    choices = [{"x": float(i)} for i in range(5)]
    with store_of(empty) as store:
        runner = TrialRunner(store, LOGGER, take_in_turn(choices), total=5)
        specs = [runner.next_trial() for _ in range(3)]
        assert specs == [TrialSpec(i, {"x": float(i)}) for i in range(3)]
        assert runner.remaining == 2
        runner.start(1)
        runner.finish(1, "finished", {"height": 0.5})
    with store_of(empty, "resume") as store:
        runner = TrialRunner(store, LOGGER, take_in_turn(choices), total=5)
        assert runner.remaining == 4
        numbers = []
        while (spec := runner.next_trial()) is not None:
            numbers.append((spec.number, spec.params["x"]))
        assert numbers == [(0, 0.0), (2, 2.0), (3, 3.0), (4, 4.0)]
        assert runner.remaining == 0


def test_a_phase_fixes_parameters_that_no_trial_keeps_as_its_own(empty: Path) -> None:
    with store_of(empty) as store:
        runner = TrialRunner(
            store, LOGGER, take_in_turn([{"x": 1.0}]), total=1, phase="short", fixed={"steps": 1, "x": 9.0}
        )
        spec = runner.next_trial()
        assert spec is not None
        assert spec.params == {"steps": 1, "x": 1.0}  # the trial's own value wins
        assert store.running[0].params == {"x": 1.0}
        assert store.running[0].phase == "short"


def test_trials_of_another_phase_are_not_counted_or_resumed(empty: Path) -> None:
    with store_of(empty) as store:
        store.add(0, {"x": 0.0}, "short")
        store.add(1, {"x": 1.0}, "full")
        runner = TrialRunner(store, LOGGER, take_in_turn([]), total=1, phase="full")
        spec = runner.next_trial()
        assert spec is not None
        assert spec.number == 1
        assert runner.next_trial() is None


def test_no_new_trial_starts_after_the_time_is_over_but_interrupted_ones_do(empty: Path) -> None:
    with store_of(empty) as store:
        store.add(0, {"x": 0.0}, "")
        runner = TrialRunner(store, LOGGER, take_in_turn([{}, {}]), total=2, until=-math.inf)
        assert runner.next_trial() == TrialSpec(0, {"x": 0.0})
        assert runner.next_trial() is None


def test_the_sampler_learns_values_and_counts_failed_trials_as_bad(empty: Path) -> None:
    class Recording(Sampler):
        def observe(self, number: int, params: Any, value: float) -> None:
            seen.append((number, value))

    seen: list[tuple[int, float]] = []
    ended: list[int] = []
    sampler = Recording(Space.parse({"x": {"uniform": [-3, 3]}}), "random")
    with store_of(empty) as store:
        callback = SweepCallback(on_trial_end=lambda trial, trials: ended.append(trial.number))
        runner = TrialRunner(
            store, LOGGER, draw_after([{}], sampler), total=3, sampler=sampler, callback=callback
        )
        for state, height in (("finished", 0.5), ("stopped", 0.25), ("failed", 0.75)):
            spec = runner.next_trial()
            assert spec is not None
            assert (spec.params == {}) == (spec.number == 0)
            runner.start(spec.number)
            runner.finish(spec.number, state, {"height": height})  # type: ignore[arg-type]
    assert seen[:2] == [(0, 0.5), (1, 0.25)]
    assert math.isnan(seen[2][1])
    assert ended == [0, 1, 2]

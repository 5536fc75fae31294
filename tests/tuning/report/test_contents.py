"""The contents of a report: its facts and tables, and the result of its own best trial alone."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.trials import depth_trials, rate_trials

from cocite.errors import NotFoundError
from cocite.evaluation.significance import compare
from cocite_tuning.report.contents import LISTED, SweepReport
from cocite_tuning.report.page import render_html
from cocite_tuning.sweep.result import SweepResult
from cocite_tuning.sweep.trials import Trial, Trials

TRIALS = Trials(
    sweep="s",
    metric="MRR",
    trials=tuple(
        Trial(number=i, params={"x": i}, metrics={"MRR": 0.1 * i, "latency_ms": float(i)})
        for i in range(1, 4)
    ),
)
COMPARISON = compare(np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.5, 0.3]))
RESULT = SweepResult(
    **TRIALS.best().model_dump(), confirmation=COMPARISON, commands=("cocite <x> & y",), notes=("So.",)
)


def test_latency_is_reported_where_trials_have_a_latency() -> None:
    report = SweepReport(depth_trials(), max_latency_ms=30)
    assert {"speed", "depths"} <= set(report.figures)
    assert [table.columns[0] for table in report.depths] == ["depth", "rerank"]
    assert report.depths[0].rows[-1] == ["1000", "0.5500", "105"]
    assert report.facts["budget"] == "at most 30 ms a query"
    assert "at most 30 ms a query" in render_html(report)
    without = SweepReport(rate_trials())
    assert "speed" not in without.figures
    assert (without.frontier, without.depths) == (None, [])


def test_the_best_trial_is_the_best_within_the_budget() -> None:
    best = SweepReport(depth_trials(), max_latency_ms=30).best
    assert best is not None
    assert best.params == {"depth": 100, "rerank": 10}
    with pytest.raises(NotFoundError, match="no trial keeps latency_ms within 1"):
        _ = SweepReport(depth_trials(), max_latency_ms=1).best
    assert SweepReport(Trials(sweep="s", metric="MRR")).best is None


def test_the_result_belongs_to_its_own_trial() -> None:
    report = SweepReport(TRIALS, result=RESULT)
    assert report.result == RESULT
    assert report.confirmation.startswith("On 3 queries that no trial saw: MRR 0.3333 against the default's")
    assert report.default_stays is True
    assert report.unconfirmed == ""
    within_budget = SweepReport(TRIALS, result=RESULT, max_latency_ms=2)
    assert within_budget.result is None
    assert within_budget.default_stays is None
    assert within_budget.confirmation == within_budget.unconfirmed
    assert within_budget.unconfirmed.startswith("The sweep ended with trial 3 as its best")
    assert SweepReport(TRIALS).confirmation == ""


def test_why_there_is_no_comparison_takes_its_place() -> None:
    unknown = RESULT.model_copy(update={"confirmation": None, "why_not": "Not compared: nothing was kept."})
    assert SweepReport(TRIALS, result=unknown).confirmation == "Not compared: nothing was kept."


def test_the_default_stands_beside_the_best() -> None:
    chosen = SweepReport(rate_trials()).chosen
    assert chosen is not None
    assert chosen.columns[2] == "default"
    assert [chosen.rows[-1][0], chosen.rows[-1][2]] == ["MRR", "0.2000"]
    # Without a trial of the default there is no such column.
    assert SweepReport(TRIALS).chosen is not None
    assert SweepReport(TRIALS).chosen.columns == ["", "trial 3"]  # type: ignore[union-attr]


def test_the_table_lists_the_best_first_and_the_unfinished_last() -> None:
    table = SweepReport(rate_trials(10)).listed
    values = [float(row[2]) for row in table.rows[:10]]
    assert values == sorted(values, reverse=True)
    assert [row[1] for row in table.rows[10:]] == ["failed", "stopped"]
    assert len(SweepReport(rate_trials(200)).listed.rows) == LISTED


def test_reasons_of_failures_are_counted() -> None:
    failed = [Trial(number=i, params={}, state="failed", error=error) for i, error in enumerate("aab")]
    report = SweepReport(Trials(sweep="s", metric="m", trials=tuple(failed)))
    assert report.failures is not None
    assert report.failures.rows == [["2", "a"], ["1", "b"]]
    assert SweepReport(TRIALS).failures is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_time_is_given_in_a_unit_that_fits(seconds: float, text: str) -> None:
    trial = Trial(number=0, params={}, metrics={"m": 1.0}, seconds=seconds)
    report = SweepReport(Trials(sweep="s", metric="m", trials=(trial,)))
    assert report.facts["time in trials"] == text


def test_numbers_for_machines_are_those_of_the_page() -> None:
    data = SweepReport(TRIALS, result=RESULT).to_dict()
    assert (data["sweep"], data["metric"], data["mode"]) == ("s", "MRR", "max")
    assert data["trials"] == {"finished": 3}
    assert data["best"]["number"] == 3
    assert data["confirmation"] == COMPARISON
    assert data["use"] == {"commands": ("cocite <x> & y",), "notes": ("So.",)}
    assert [trial["number"] for trial in data["frontier"]] == [1, 2, 3]
    assert (data["default"], data["importance"]) == (None, None)

"""What came of a sweep, in words and on disk."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command_line import call

from cocite.errors import IntegrityError
from cocite.evaluation.significance import Comparison, compare
from cocite_tuning.report.command import show_outcome
from cocite_tuning.report.page import SweepReport
from cocite_tuning.run.champion import Verdict
from cocite_tuning.run.result import LEVEL, Outcome, confirmed, is_better
from cocite_tuning.run.trials import Trial, Trials
from cocite_tuning.sweep.sweep import ChampionSettings

TRIALS = Trials(
    sweep="s",
    metric="MRR",
    trials=tuple(
        Trial(number=i, params={"x": i}, metrics={"MRR": 0.1 * i, "latency_ms": float(i)})
        for i in range(1, 4)
    ),
)


def told(difference: float, noise: float, **more: Any) -> str:
    """The sentence of a comparison over 400 queries."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 1, 400)
    return confirmed(compare(base + difference + noise * rng.normal(size=400), base), "MRR", **more)


def test_a_confirmation_says_what_the_difference_is_worth() -> None:
    same = told(0.001, 0.3, mode="max")
    assert same.startswith("On 400 queries that no trial saw: MRR 0.")
    assert "no difference to speak of. The difference lies between -0." in same
    assert "p < 0.0001: better, and not by chance." in told(0.1, 0.1, mode="max")
    assert ": worse." in told(-0.1, 0.1, mode="max")
    assert ": worse." in told(0.1, 0.1, mode="min")
    assert "p = 1: no difference to speak of" in told(0.0, 0.0, mode="max")


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    certain = compare(np.ones(5), np.zeros(5))
    assert math.isinf(certain.t)
    best = Outcome(**TRIALS.best().model_dump(), confirmation=certain, commands=("cocite a", "cocite b"))
    best.write(tmp_path)
    assert Outcome.read(tmp_path) == best
    assert best.of(TRIALS.best())
    assert Outcome.read(tmp_path / "elsewhere") is None
    (tmp_path / "best.json").write_text('{"number": "x"}')
    with pytest.raises(IntegrityError, match="not the outcome of a sweep: number"):
        Outcome.read(tmp_path)
    # What an earlier version of cocite wrote is a trial alone.
    (tmp_path / "best.json").write_text(json.dumps(TRIALS.best().model_dump(mode="json")))
    assert Outcome.read(tmp_path) == Outcome(**TRIALS.best().model_dump())


def test_the_page_tells_it_of_its_own_trial_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = compare(np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.5, 0.3]))
    best = Outcome(
        **TRIALS.best().model_dump(), confirmation=comparison, commands=("cocite <x> & y",), notes=("So.",)
    )
    page = SweepReport(TRIALS, outcome=best).html()
    assert "On 3 queries that no trial saw: MRR 0.3333 against the default&#39;s 0.3333, p = 1" in page
    assert "<pre>cocite &lt;x&gt; &amp; y</pre>" in page
    other = SweepReport(TRIALS, outcome=best, max_latency_ms=2)
    assert other.outcome is None
    assert "The sweep ended with trial 3 as its best" in other.html()
    assert "cocite &lt;x&gt;" not in other.html()
    assert "<h2>To use" not in SweepReport(TRIALS).html()
    unknown = best.model_copy(update={"confirmation": None, "why_not": "Not compared: nothing was kept."})
    assert "Not compared: nothing was kept." in SweepReport(TRIALS, outcome=unknown).html()
    TRIALS.write(tmp_path / "trials.json")
    best.write(tmp_path)
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--json")
    answer = json.loads(out)
    assert (code, answer["confirmation"]["queries"]) == (0, 3)
    assert answer["use"] == {"commands": ["cocite <x> & y"], "notes": ["So."]}
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--max-latency-ms", "2", "--json")
    assert json.loads(out)["confirmation"] is None


BASE = np.random.default_rng(1).uniform(0, 1, 300)
NOISE = np.random.default_rng(2).normal(size=300)
BETTER, WORSE = (compare(BASE + shift + 0.1 * NOISE, BASE) for shift in (0.1, -0.1))
CHANCE = compare(BASE + 0.001 + 0.3 * (NOISE - NOISE.mean()), BASE)


@pytest.mark.parametrize(
    ("comparison", "stays"), [(BETTER, False), (CHANCE, True), (WORSE, True), (None, None)]
)
def test_the_default_stays_unless_the_trial_is_shown_to_be_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], comparison: Comparison | None, stays: bool | None
) -> None:
    best = Outcome(
        **TRIALS.best().model_dump(), confirmation=comparison, commands=("cocite x",), notes=("So.",)
    )
    assert best.default_stays("max") is stays
    TRIALS.write(tmp_path / "trials.json")
    best.write(tmp_path)
    code, out, _ = call(capsys, "tune", "report", tmp_path)
    page = (tmp_path / "report.html").read_text()
    advised, heading = ("To use the trial all the same", "To use it")[:: 1 if stays else -1]
    assert code == 0
    assert f"{advised}:\n  cocite x\nSo." in out
    assert f"<h2>{advised}</h2>" in page
    assert all(f"{heading}:" not in text and f"<h2>{heading}" not in text for text in (out, page))
    assert ("The default stays." in out) == ("The default stays." in page) == bool(stays)
    answer = json.loads(call(capsys, "tune", "report", tmp_path, "--json")[1])
    assert answer["default_stays"] is stays
    assert answer["use"]["commands"] == ["cocite x"]


def test_the_threshold_is_the_champions() -> None:
    assert ChampionSettings.model_fields["level"].default == LEVEL
    at_level = replace(CHANCE, p=LEVEL)
    assert (CHANCE.difference > 0, is_better(at_level), is_better(CHANCE)) == (True, True, False)
    assert is_better(replace(WORSE, p=0.01), "min")
    assert not is_better(at_level, "max", level=0.01)


@pytest.mark.parametrize("won", [True, False])
def test_commands_are_no_recommendation_where_the_champion_stays(
    capsys: pytest.CaptureFixture[str], won: bool
) -> None:
    best = Outcome(**TRIALS.best().model_dump(), commands=("cocite serve",))
    show_outcome(best, TRIALS, Verdict("ours", "champion", won, 2, CHANCE))
    verdict, heading, _ = capsys.readouterr().out.splitlines()
    assert ("stays version 2" in verdict) == (not won)
    assert heading == ("To use it:" if won else "To use the trial all the same:")

"""What came of a sweep, in words and on disk."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calling import call

from cocite.errors import IntegrityError
from cocite.evaluation.significance import compare
from cocite_tuning.outcome import Outcome, confirmed
from cocite_tuning.report.page import SweepReport
from cocite_tuning.trials import Trial, Trials

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
    assert "To use it" not in SweepReport(TRIALS).html()
    unknown = best.model_copy(update={"confirmation": None, "why_not": "Not compared: nothing was kept."})
    assert "Not compared: nothing was kept." in SweepReport(TRIALS, outcome=unknown).html()
    TRIALS.write(tmp_path / "trials.json")
    best.write(tmp_path)
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--json")
    answer = json.loads(out)
    assert (code, answer["confirmation"]["queries"]) == (0, 3)
    assert answer["use"] == {"commands": ["cocite <x> & y"], "notes": ["So."]}
    code, out, _ = call(capsys, "tune", "report", tmp_path)
    assert "To use it:\n  cocite <x> & y\nSo." in out
    code, out, _ = call(capsys, "tune", "report", tmp_path, "--max-latency-ms", "2", "--json")
    assert json.loads(out)["confirmation"] is None

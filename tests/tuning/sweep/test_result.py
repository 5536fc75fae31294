"""The result of a sweep on disk, and what it says in words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import IntegrityError
from cocite.evaluation.significance import Comparison, compare
from cocite_tuning.sweep.result import (
    LEVEL,
    Mode,
    SweepResult,
    confirmation_sentence,
    is_better,
    usage_heading,
)
from cocite_tuning.sweep.sweep import ChampionSettings
from cocite_tuning.sweep.trials import Trial

TRIAL = Trial(number=3, params={"x": 3}, metrics={"MRR": 0.3, "latency_ms": 3.0})
BASE = np.random.default_rng(1).uniform(0, 1, 300)
NOISE = np.random.default_rng(2).normal(size=300)
BETTER, WORSE = (compare(BASE + shift + 0.1 * NOISE, BASE) for shift in (0.1, -0.1))
CHANCE = compare(BASE + 0.001 + 0.3 * (NOISE - NOISE.mean()), BASE)


def sentence(difference: float, noise: float, mode: Mode) -> str:
    """The sentence of a comparison over 400 queries."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 1, 400)
    return confirmation_sentence(compare(base + difference + noise * rng.normal(size=400), base), "MRR", mode)


def test_the_sentence_says_what_the_difference_is_worth() -> None:
    same = sentence(0.001, 0.3, "max")
    assert same.startswith("On 400 queries that no trial saw: MRR 0.")
    assert "no difference to speak of. The difference lies between -0." in same
    assert "p < 0.0001: better, and not by chance." in sentence(0.1, 0.1, "max")
    assert ": worse." in sentence(-0.1, 0.1, "max")
    assert ": worse." in sentence(0.1, 0.1, "min")
    assert "p = 1: no difference to speak of" in sentence(0.0, 0.0, "max")


def test_the_sentence_names_the_papers_that_the_test_is_over() -> None:
    comparison = compare(BASE, BASE - 0.1, np.repeat(np.arange(100), 3))
    said = confirmation_sentence(comparison, "MRR", "max")
    assert said.startswith("On 300 queries of 100 citing papers that no trial saw: MRR 0.")
    before = replace(comparison, papers=0)  # of a result that was written before papers were counted
    assert confirmation_sentence(before, "MRR", "max").startswith("On 300 queries that no trial saw: ")


def test_a_result_comes_back_as_it_was_written(tmp_path: Path) -> None:
    certain = compare(np.ones(5), np.zeros(5))
    assert math.isinf(certain.t)
    result = SweepResult(**TRIAL.model_dump(), confirmation=certain, commands=("cocite a", "cocite b"))
    result.write(tmp_path)
    assert SweepResult.read(tmp_path) == result
    assert SweepResult.read(tmp_path / "elsewhere") is None
    (tmp_path / "best.json").write_text('{"number": "x"}')
    with pytest.raises(IntegrityError, match="not the outcome of a sweep: number"):
        SweepResult.read(tmp_path)


def test_a_trial_alone_is_a_result(tmp_path: Path) -> None:
    """What the first versions of cocite wrote."""
    (tmp_path / "best.json").write_text(json.dumps(TRIAL.model_dump(mode="json")))
    assert SweepResult.read(tmp_path) == SweepResult(**TRIAL.model_dump())


def test_the_file_has_the_keys_that_earlier_versions_wrote(tmp_path: Path) -> None:
    SweepResult(**TRIAL.model_dump(), confirmation=CHANCE).write(tmp_path)
    data = json.loads((tmp_path / "best.json").read_text())
    assert list(data) == [*Trial.model_fields, "confirmation", "why_not", "commands", "notes"]
    assert data["confirmation"]["queries"] == 300


def test_a_result_belongs_to_its_trial_alone() -> None:
    result = SweepResult(**TRIAL.model_dump())
    assert result.belongs_to(TRIAL)
    assert not result.belongs_to(None)
    assert not result.belongs_to(TRIAL.model_copy(update={"number": 4}))
    # A fresh sweep in the same folder may have another trial of this number.
    assert not result.belongs_to(TRIAL.model_copy(update={"params": {"x": 4}}))


@pytest.mark.parametrize(
    ("comparison", "stays"), [(BETTER, False), (CHANCE, True), (WORSE, True), (None, None)]
)
def test_the_default_stays_unless_the_trial_is_shown_to_be_better(
    comparison: Comparison | None, stays: bool | None
) -> None:
    assert SweepResult(**TRIAL.model_dump(), confirmation=comparison).default_stays("max") is stays


def test_the_level_is_the_champions() -> None:
    assert ChampionSettings.model_fields["level"].default == LEVEL
    at_level = replace(CHANCE, p=LEVEL)
    assert (CHANCE.difference > 0, is_better(at_level), is_better(CHANCE)) == (True, True, False)
    assert is_better(replace(WORSE, p=0.01), "min")
    assert not is_better(at_level, "max", level=0.01)


@given(difference=st.floats(-1, 1), p=st.floats(0, 1))
def test_only_one_of_two_can_be_better(difference: float, p: float) -> None:
    comparison = replace(CHANCE, difference=difference, p=p)
    modes: tuple[Mode, Mode] = ("max", "min")
    assert sum(is_better(comparison, mode) for mode in modes) == (p <= LEVEL and difference != 0)


def test_the_heading_recommends_or_does_not() -> None:
    assert usage_heading(True) == "To use it"
    assert usage_heading(False) == "To use the trial all the same"

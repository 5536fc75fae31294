from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cocite.progress_bars import Advance, ProgressBars, StagedBars, no_bars


def test_no_bars_let_the_job_run_and_its_errors_through() -> None:
    bars: ProgressBars = no_bars
    with bars("ranking", None) as advance:
        assert advance(64) is None  # type: ignore[func-returns-value]
    with pytest.raises(ZeroDivisionError, match="division"), bars("ranking", 3):
        _ = 1 / 0


def test_stages_are_bars_one_after_the_other() -> None:
    said: list[object] = []

    @contextmanager
    def bars(description: str, total: int | None) -> Iterator[Advance]:
        said.append((description, total))
        try:
            yield said.append
            said.append("end")
        except ValueError:
            said.append("cut short")
            raise

    with pytest.raises(ValueError, match="broken"), StagedBars(bars, "training hatten") as progress:
        progress.advance(5)  # before a stage begins: nothing counts it
        progress.stage("reading texts", 3)
        progress.advance(2)
        progress.stage("steps", 0)
        raise ValueError("broken")
    assert said == [
        ("training hatten: reading texts", 3),
        2,
        "end",
        ("training hatten: steps", None),
        "cut short",
    ]

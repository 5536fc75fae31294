from __future__ import annotations

from typing import Any

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite_jobs.evaluation.pipeline import evaluate_pipeline
from cocite_jobs.progress_bars import ProgressBars, no_bars


def test_no_bars_let_the_job_run_and_its_errors_through() -> None:
    bars: ProgressBars = no_bars
    with bars("ranking", None) as advance:
        assert advance(64) is None  # type: ignore[func-returns-value]
    with pytest.raises(ZeroDivisionError, match="division"), bars("ranking", 3):
        _ = 1 / 0


def test_a_job_draws_a_bar_for_each_step_that_ends_at_its_total(synthetic: SyntheticCorpora) -> None:
    steps: dict[str, tuple[int | None, int]] = {}

    class Bar:
        def __init__(self, description: str, total: int | None) -> None:
            self.description, self.total, self.done = description, total, 0

        def __enter__(self) -> Any:
            def advance(count: int) -> None:
                self.done += count

            return advance

        def __exit__(self, *_: object) -> None:
            steps[self.description] = (self.total, self.done)

    corpus = synthetic(400, seed=2, split=(2, 1))
    evaluate_pipeline(corpus, None, stages=["bm25", "first"], sample=10, k=5, batch=4, bars=Bar)
    assert list(steps) == ["indexing", "ranking with bm25", "ranking with first"]
    assert steps["ranking with bm25"] == steps["ranking with first"] == (10, 10)

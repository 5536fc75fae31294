"""A reproduction whose trainings run on Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import reproduce
from cocite_jobs.training import on_ray

pytestmark = pytest.mark.integration


def test_recipes_with_workers_are_trained_on_ray(
    synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, str]] = []
    train_on_ray = on_ray.train_on_ray

    def seen(job: Any, *arguments: Any, **options: Any) -> Any:
        trained.append((job.recipe["kind"], options["address"]))
        return train_on_ray(job, *arguments, **options)

    monkeypatch.setattr(on_ray, "train_on_ray", seen)
    corpus = synthetic(200, seed=6, split=(2, 1), context_rate=2.0, sentences=True)
    setup = Setup(corpus, tmp_path / "to", "toy", address="local")
    outcome = reproduce("nogueira", setup, only=["table4"])
    assert trained == [("masked-lm", "local"), ("cross-encoder", "local")]
    assert outcome.contents.missing == {}
    assert outcome.made == ["table4"]

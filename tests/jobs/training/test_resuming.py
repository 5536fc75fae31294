from __future__ import annotations

from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.errors import InputError
from cocite_jobs.training import progress
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.resuming import train_or_resume
from cocite_jobs.training.train import train

CHANGES = [
    "model.dimension=8",
    "training.steps=150",
    "training.epochs=99",
    "training.patience=0",
    "training.checkpoint_every=2",
    "training.evaluate_every=0",
]


def test_a_training_goes_on_where_it_was_stopped(
    synthetic: SyntheticCorpora, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "POSITION_INTERVAL_S", 0.0)  # each step is told
    corpus = synthetic(400, seed=2, split=(2, 1))
    recipe = load_recipe("nnselect", [*CHANGES, "training.batch=64"])
    run = tmp_path / ".nnselect.training"

    def stop(_count: int) -> None:
        if any(run.glob("step-*")):
            raise KeyboardInterrupt("Ctrl-C")

    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        train_or_resume(recipe, corpus, tmp_path, ProgressFunctions(advance=stop))
    assert any(run.glob("step-*"))

    with pytest.raises(InputError, match="--resume"):
        train(recipe, corpus, tmp_path)
    made = train_or_resume(recipe, corpus, tmp_path, ProgressFunctions())
    assert made.folder.is_dir()
    assert made.details["steps"] == 150
    assert not run.exists()

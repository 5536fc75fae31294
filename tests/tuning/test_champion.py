"""The alias goes to who beats its holder on dev, and to nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.artifacts import verify
from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registry import download_model
from cocite_mlflow.runs import MlflowRun, start_run
from cocite_tuning.run.champion import Verdict, contend
from cocite_tuning.sweep.sweep import ChampionSettings

SETTINGS = ChampionSettings.parse(
    {"register": "ours", "task": "global", "system": "nnselect", "metric": "R@20", "sample": None}
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    synthetic = Synthetic(300, seed=3)
    last = int(synthetic.year([299])[0])
    folder = tmp_path_factory.mktemp("champion") / "store"
    return build(synthetic, folder, split=by_year_name(last - 3, last - 1))


def model(corpus: Corpus, folder: Path, *values: str) -> Path:
    train(
        load_recipe("nnselect", ["model.dimension=16", "training.epochs=6", "training.batch=64", *values]),
        corpus,
        folder,
    )
    return folder


@pytest.mark.integration
def test_a_significantly_better_model_takes_the_alias(corpus: Corpus, tmp_path: Path) -> None:
    weak = model(
        corpus,
        tmp_path / "weak",
        "training.epochs=1",
        "training.optimizer.learning_rate=1e-9",
        "model.dimension=2",
    )
    strong = model(corpus, tmp_path / "strong")
    store = TrackingSettings(folder=tmp_path)

    def challenge(contender: Path) -> Verdict:
        with start_run("sweep", experiment="tune", tracking=store) as run:
            verdict = contend(SETTINGS, contender, corpus, store, run)
        assert verdict is not None
        return verdict

    first = challenge(weak)
    assert (first.won, first.version, first.comparison) == (True, 1, None)
    second = challenge(strong)
    assert (second.won, second.version) == (True, 2)
    assert second.comparison is not None
    assert second.comparison.difference > 0
    assert second.comparison.p < 0.05
    assert second.sentence().startswith("ours@champion is version 2 now: ")
    for contender in (weak, strong):  # a worse one, and one that is as good
        verdict = challenge(contender)
        assert (verdict.won, verdict.version) == (False, 2)
        assert verdict.sentence().startswith("ours@champion stays version 2: ")
    holder = download_model("ours", "champion", tmp_path / "back", tracking=store)
    assert verify(holder / "nnselect").digest == verify(strong / "nnselect").digest


def test_without_tracking_nothing_is_registered(corpus: Corpus, tmp_path: Path) -> None:
    assert contend(SETTINGS, tmp_path, corpus, TrackingSettings(enabled=False), MlflowRun()) is None

"""A model takes the alias only if it is significantly better on dev than the holder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.synthetic import SyntheticCorpora
from mlflow import MlflowClient

from cocite.artifacts import verify
from cocite.corpus.splits import DEV, NONE, Split, with_split
from cocite.corpus.starter import build_starter
from cocite.corpus.store import Corpus
from cocite.evaluation import tasks
from cocite.pipeline import components
from cocite.pipeline.golden_queries import GoldenQueries, make_golden_queries
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.storage.location import Location
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registry import download_model
from cocite_mlflow.runs import MlflowRun, start_run
from cocite_tuning.run.champion import ChampionOnWorker, promote_if_better
from cocite_tuning.sweep.promotion import PromotionResult
from cocite_tuning.sweep.sweep import ChampionSettings

pytestmark = pytest.mark.usefixtures("mlflow_store")

SETTINGS = ChampionSettings.parse(
    {"register": "ours", "task": "global", "system": "nnselect", "metric": "R@20", "sample": None}
)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=3, split=(3, 1))


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

    def challenge(contender: Path, on_worker: ChampionOnWorker | None = None) -> PromotionResult:
        with start_run("sweep", experiment="tune", tracking=store) as run:
            result = promote_if_better(SETTINGS, contender, corpus, store, run, on_worker)
        assert result is not None
        return result

    first = challenge(weak)
    assert (first.won, first.version, first.comparison) == (True, 1, None)
    second = challenge(strong)
    assert (second.won, second.version) == (True, 2)
    assert second.comparison is not None
    assert second.comparison.difference > 0
    assert second.comparison.p < 0.05
    assert second.sentence().startswith("ours@champion is version 2 now: ")
    for contender in (weak, strong):  # a worse one, and one that is as good
        result = challenge(contender)
        assert (result.won, result.version) == (False, 2)
        assert result.sentence().startswith("ours@champion stays version 2: ")
    # A worker of a cluster measures the same.
    sweep = Location.of(tmp_path / "sweep")
    with ray_connection("local"):
        on_worker = ChampionOnWorker(sweep, str(corpus.path), WorkerSettings())
        assert challenge(weak, on_worker) == challenge(weak)
    assert sweep.names() == []
    holder = download_model("ours", "champion", tmp_path / "back", tracking=store)
    assert verify(holder / "nnselect").digest == verify(strong / "nnselect").digest


def test_a_model_that_cannot_be_compared_leaves_the_alias_where_it_is(corpus: Corpus, tmp_path: Path) -> None:
    codes = np.where(np.asarray(corpus.split) == DEV, NONE, np.asarray(corpus.split)).astype(np.int8)
    asking = tasks.build(corpus, "local", "dev").papers
    codes[np.bincount(asking).argmax()] = DEV
    one = with_split(corpus, Split(codes), tmp_path / "one")
    assert len(tasks.build(one, "local", "dev").queries) > 1
    settings = SETTINGS.model_copy(update={"task": "local"})
    contender, store = (
        model(corpus, tmp_path / "model", "training.epochs=1"),
        TrackingSettings(folder=tmp_path),
    )
    for won, said in ((True, "there was none before it"), (False, "needs queries of at least two papers")):
        with start_run("sweep", experiment="tune", tracking=store) as run:
            result = promote_if_better(settings, contender, one, store, run)
        assert result is not None
        assert (result.won, result.version) == (won, 1)
        assert result.sentence().endswith(said)


@pytest.mark.integration
@pytest.mark.thorough
def test_a_worker_makes_the_golden_queries_of_a_new_champion(tmp_path: Path) -> None:
    corpus, index = build_starter(tmp_path / "corpus"), tmp_path / "index"
    IndexSnapshot.create(corpus, index)
    model, same = cross_encoder_folder(tmp_path / "model"), cross_encoder_folder(tmp_path / "same")
    store, sweep = TrackingSettings(folder=tmp_path), Location.of(tmp_path / "sweep")
    on_worker = ChampionOnWorker(sweep, str(corpus.path), WorkerSettings())

    def promote(name: str, index: Path) -> str:
        settings = SETTINGS.model_copy(update={"register_as": name, "index": index})
        with start_run("sweep", experiment="tune", tracking=store) as run:
            result = promote_if_better(settings, model, corpus, store, run, on_worker)
            assert result is not None
            assert (result.won, result.version) == (True, 1)
        assert sweep.names() == []
        client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
        return str(client.get_run(run.id).data.tags["golden queries"])

    with ray_connection("local"):
        assert promote("none", tmp_path / "none").startswith("warning: no golden queries were made: ")
        assert GoldenQueries.open(model) is None
        assert promote("ours", index) == "kept 8 golden queries with the model"
    made, here = GoldenQueries.open(model), make_golden_queries(same, index)
    assert made is not None
    assert (made.queries, made.model) == (here.queries, components.version(model))
    assert {name: answer.ids for name, answer in made.answers.items()} == {
        name: answer.ids for name, answer in here.answers.items()
    }
    holder = download_model("ours", "champion", tmp_path / "back", tracking=store)
    assert GoldenQueries.open(holder) == made


def test_without_tracking_nothing_is_registered(corpus: Corpus, tmp_path: Path) -> None:
    assert promote_if_better(SETTINGS, tmp_path, corpus, TrackingSettings(enabled=False), MlflowRun()) is None

"""Workers of a cluster that has GPUs: those without any see none, so that they cannot take what others reserved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import bag_recipe
from helpers.bag_runs import TWO_WORKERS, train_bag
from helpers.command_line import call
from helpers.fake_gpus import ray_with_gpus
from helpers.ray_head import head
from helpers.seeing_job import gpus_seen
from helpers.seen_gpus import NotingRankQueries, NotingRankTask, NotingShardParts, seen_here
from helpers.seen_gpus import seen as seen_in
from helpers.squares import VisibleGpus, parts
from helpers.synthetic import SyntheticCorpora
from helpers.untrained_encoders import untrained_encoders

from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite_jobs.retrieval.ray_shards import RayShards
from cocite_jobs.steps.indexing import build_index
from cocite_jobs.steps.parts import FinishedParts
from cocite_jobs.steps.ranking import rank_file, rank_task
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def two_gpus() -> Iterator[None]:
    """A Ray that believes in two GPUs, though the machine may have none.

    The last tests share it: those before them need a Ray of their own, and a process has one at a time.
    """
    with pytest.MonkeyPatch.context() as patch, ray_with_gpus(patch, gpus=2):
        yield


def test_parts_without_gpus_see_none_of_nodes_that_a_cluster_may_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = FinishedParts(Location.of(tmp_path / "parts"), "gpus")
    with ray_with_gpus(monkeypatch, gpus=0):
        results = run_parts(VisibleGpus(), parts(2), finished, Workers(on="ray", count=2, gpus=None))
    assert [result["seen"] for result in results] == ["", ""]


def test_the_command_of_a_job_sees_the_gpus_that_it_reserves_and_its_workers_see_theirs(
    tmp_path: Path,
) -> None:
    with head(tmp_path, gpus=2) as running:
        without, reserving = gpus_seen(running, tmp_path, 0, 1)
    assert without["command"] == ""
    assert without["worker"] in {"0", "1"}
    assert {reserving["command"], reserving["worker"]} == {"0", "1"}


@pytest.mark.usefixtures("two_gpus")
def test_workers_without_gpus_see_none(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    bag_recipe.register()
    try:
        seen = [f"visible_gpus={tmp_path}/seen", "training.steps=2"]
        train_bag(synthetic(60, seed=11), tmp_path / "model", *TWO_WORKERS, "workers.gpus=0", *seen)
    finally:
        bag_recipe.KINDS.pop("bag")
    assert [(tmp_path / "seen" / rank).read_text() for rank in ("0", "1")] == ["", ""]


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(("gpus", "seen"), [(1.0, {"0", "1"}), (0.0, {""}), (None, {"0", "1"})])
def test_the_parts_of_a_step_see_the_gpus_reserved_for_them(
    tmp_path: Path, gpus: float | None, seen: set[str]
) -> None:
    finished = FinishedParts(Location.of(tmp_path / "parts"), "gpus")
    results = run_parts(VisibleGpus(), parts(4), finished, Workers(on="ray", count=2, gpus=gpus))
    assert {result["seen"] for result in results} <= seen


@pytest.mark.usefixtures("two_gpus")
def test_the_shards_of_an_index_see_no_gpu(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    import ray

    ShardedIndex.create(synthetic(60, seed=11), tmp_path / "index", shards=2)
    with RayShards.started(tmp_path / "index", "000001") as shards:
        calls = [actor.__ray_call__.remote(seen_here) for actor in shards._actors]
        assert ray.get(calls) == ["", ""]


@pytest.mark.usefixtures("two_gpus")
def test_rankings_and_index_builds_take_gpus_where_a_model_computes(
    synthetic: SyntheticCorpora,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = synthetic(400, seed=2, split=(2, 1))
    model, index, queries = untrained_encoders(corpus, tmp_path / "model"), tmp_path / "index", tmp_path / "q"
    queries.write_text(json.dumps({"id": "q", "title": corpus.paper(3).title}) + "\n")
    monkeypatch.setattr(build_index, "ShardParts", NotingShardParts)
    monkeypatch.setattr(rank_file, "RankQueries", NotingRankQueries)
    monkeypatch.setattr(rank_task, "RankTask", NotingRankTask)
    any_gpu = {"0", "1"}

    def run(*words: object) -> None:
        code, _, err = call(capsys, *words)
        assert code == 0, err

    build = ("index", "build", corpus.path, "--to", index, "--shards", 2, "--on", "ray")
    run(*build, "--model", model)
    encoding = seen_in(tmp_path, "encode")
    assert encoding
    assert encoding <= any_gpu
    assert seen_in(tmp_path) == {""}  # of all other parts

    rank = f"rank --queries {queries} --index {index} --to {tmp_path}/run --on ray --workers 2".split()
    for options, gpus in (
        (("--model", model, "--pipeline", "nnselect"), any_gpu),
        (("--model", model, "--pipeline", "nnselect", "--gpus", 0), {""}),
        (("--pipeline", "bm25"), {""}),
    ):
        run(*rank, *options)
        found = seen_in(tmp_path)
        assert found
        assert found <= gpus

    evaluate = (
        f"evaluate pipeline --corpus {corpus.path} --index {index} --model {model} --to {tmp_path}/report"
    )
    shape = "--stages nnselect --sample 3 --k 5 --no-track --on ray --workers 2 --gpus .5 --cpus .5"
    run(*evaluate.split(), *shape.split())
    found = seen_in(tmp_path)
    assert found
    assert found <= any_gpu

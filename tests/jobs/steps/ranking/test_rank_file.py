"""A file that is ranked in parts gives the run of one process, however it is run, and goes on where it ended."""

from __future__ import annotations

import gzip
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call
from helpers.killed_driver import run_killed
from helpers.synthetic import SyntheticCorpora
from helpers.troubled_ranking import DyingRankQueries

from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, IntegrityError
from cocite.evaluation import systems
from cocite.evaluation.queries import QueryFile
from cocite.evaluation.ranked_file import RankedFile, rank_file
from cocite.evaluation.tasks import paper_ids
from cocite.evaluation.trec import run_writer
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.parts import Result
from cocite_jobs.steps.ranking import rank_file as module
from cocite_jobs.steps.ranking.rank_file import RankQueries, rank_in_parts, rank_on_ray
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock
from cocite_jobs.storage.transfer import fetch, uploaded

TESTS = Path(__file__).parents[3]
QUERIES = 43


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=1)


@pytest.fixture(scope="module")
def index(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rank") / "index"
    IndexSnapshot.create(corpus, folder)
    return folder


@pytest.fixture(scope="module")
def queries(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    lines = [{"id": f"q{i}", "title": corpus.paper(i).title, "exclude": ["nobody"]} for i in range(QUERIES)]
    path.write_text("".join(json.dumps(line) + "\n\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def wanted(index: Path, queries: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The run of one process, without parts."""
    folder = tmp_path_factory.mktemp("wanted")
    corpus = open_index(index).corpus
    search = systems.open_system("first", None, open_index(index))
    with run_writer(folder / "run", partial(paper_ids, corpus), tag="first") as writer:
        rank_file(QueryFile(queries, corpus), search, writer, k=20, batch=4)
    return (folder / "run").read_bytes()


def rank(index: Path, queries: Path, to: Path, **options: Any) -> RankedFile:
    options = {"k": 20, "batch": 4, "tag": "first", "size": 8, "workers": Workers(), **options}
    return rank_in_parts(index, "first", None, queries, to, beside=to, **options)


def test_the_run_is_that_of_one_process(index: Path, queries: Path, wanted: bytes, tmp_path: Path) -> None:
    results: list[Result] = []
    to = tmp_path / "run.trec"
    ranked = rank(index, queries, to, receive=results.append)
    assert to.read_bytes() == wanted
    assert (ranked.queries, ranked.lines, ranked.unknown_excludes) == (QUERIES, 20 * QUERIES, QUERIES)
    assert len(results) == -(-QUERIES // 8)
    assert all(result["cpu_seconds"] > 0 for result in results)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [], "parts are left"
    rank(index, queries, tmp_path / "run.gz", size=1000)
    assert gzip.decompress((tmp_path / "run.gz").read_bytes()) == wanted


def test_a_bad_line_is_found_before_a_query_is_ranked(index: Path, queries: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text(queries.read_text() + "{}\n")
    with pytest.raises(InputError, match="bad.jsonl, line 87: the key 'id' is missing"):
        rank(index, bad, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_worker_that_sees_another_file_ranks_nothing(
    index: Path, queries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another machine, the worker sees another content than the command under the same path."""

    def elsewhere(work: RankQueries, *arguments: Any, **options: Any) -> list[Result]:
        seen.write_text(queries.read_text().replace("q7", "q07"))
        return run_parts(work, *arguments, **options)

    seen = tmp_path / "queries.jsonl"
    seen.write_text(queries.read_text())
    monkeypatch.setattr(module, "run_parts", elsewhere)
    with pytest.raises(InputError, match=r"queries\.jsonl: .* sees another file of queries here"):
        rank(index, seen, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_command_copies_no_shard_of_an_index_elsewhere(
    remote: str, corpus: Corpus, queries: Path, tmp_path: Path
) -> None:
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    with uploaded(f"{remote}/index") as path:
        shutil.copytree(tmp_path / "index", path, dirs_exist_ok=True)
    copy = fetch(f"{remote}/index", shards=())
    bad = tmp_path / "bad.jsonl"
    bad.write_text(queries.read_text() + "{}\n")
    with pytest.raises(InputError, match="the key 'id' is missing"):
        rank(copy, bad, tmp_path / "run")
    shards = copy / "versions" / "000001" / "shards"
    assert not shards.exists()
    for index in (copy, tmp_path / "index"):  # now this process is the worker, too
        rank(index, queries, tmp_path / f"{index.name}.run")
    assert (tmp_path / "index.run").read_bytes() == (tmp_path / f"{copy.name}.run").read_bytes()
    assert len(list(shards.iterdir())) == 2


def test_a_ranking_that_ended_early_goes_on(
    index: Path, queries: Path, wanted: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> bytes:
        raise InputError("stopped")

    to = tmp_path / "run.trec"
    with monkeypatch.context() as before_joining:
        before_joining.setattr(module, "read_file", stop)
        for depth in (10, 20):
            with pytest.raises(InputError, match="stopped"):
                rank(index, queries, to, k=depth)
    assert not to.exists()
    parts = tmp_path / ".run.trec.parts"
    whole = (parts / "000002.trec").read_bytes()
    (parts / "000002.trec").write_bytes(whole[:-1])
    with pytest.raises(IntegrityError, match=r"000002\.trec: is missing or damaged"):
        rank(index, queries, to)
    (parts / "000002.trec").write_bytes(whole)
    (parts / "finished" / "000001.json").unlink()
    results: list[Result] = []
    rank(index, queries, to, receive=results.append)
    assert to.read_bytes() == wanted
    with (
        output_lock(Location.of(tmp_path), "run.trec.parts.ranking"),
        pytest.raises(BusyError, match="is at work here"),
    ):
        rank(index, queries, to)


DRIVER = """
import sys
from pathlib import Path
from helpers.troubled_ranking import HeldRankQueries
from cocite_jobs.steps.ranking import rank_file as module
from cocite_jobs.steps.run_parts import Workers
module.RankQueries = HeldRankQueries
index, queries, to = map(Path, sys.argv[1:])
module.rank_in_parts(
    index, "first", None, queries, to, beside=to, k=20, batch=4, tag="first", size=8, workers=Workers()
)
"""


def test_a_killed_driver_loses_at_most_the_part_in_the_making(
    index: Path, queries: Path, wanted: bytes, tmp_path: Path
) -> None:
    to = tmp_path / "run.trec"
    finished = tmp_path / ".run.trec.parts" / "finished"
    run_killed(DRIVER, index, queries, to, recorded=finished / "*.json", count=2)
    records = {path.stem for path in finished.glob("*.json")}
    assert 2 <= len(records) < 6
    assert not to.exists()
    made: list[str] = []
    original = module.write_file

    def write(where: Location, name: str, content: bytes) -> dict[str, Any]:
        made.append(name)
        return original(where, name, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "write_file", write)
        rank(index, queries, to)
    assert to.read_bytes() == wanted
    assert {name.removesuffix(".trec") for name in made}.isdisjoint(records)
    assert len(made) == 6 - len(records)


@pytest.mark.integration
def test_tasks_of_ray_give_the_same_and_a_killed_worker_is_replaced(
    index: Path,
    queries: Path,
    wanted: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # the workers read the test's own step
    with ray_connection("local"):
        with monkeypatch.context() as dying:
            dying.setattr(module, "RankQueries", DyingRankQueries)
            rank(index, queries, tmp_path / "run", workers=Workers(on="ray", count=2))
        assert (tmp_path / "died").exists()
        assert (tmp_path / "run").read_bytes() == wanted
        options = {"beside": tmp_path / "b", "k": 20, "batch": 4, "tag": "first"}
        rank_on_ray(index, "first", None, queries, tmp_path / "b", address=None, count=2, **options)
        assert (tmp_path / "b").read_bytes() == wanted
        command = ["rank", "--queries", queries, "--index", index, "--pipeline", "first", "--k", 20]
        command += ["--batch", 4, "--on", "ray", "--workers", 2, "--to", tmp_path / "c"]
        code, _, err = call(capsys, *command)
        assert code == 0, err
        assert (tmp_path / "c").read_bytes() == wanted

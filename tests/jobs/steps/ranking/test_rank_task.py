"""A task that is ranked in parts gives metrics and runs of one process, to the last digit and byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.troubled_ranking import DyingRankTask
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.experiment import EvalResult
from cocite.evaluation.tasks import history_before
from cocite.pipeline.components import load_encoders
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.evaluation.pipeline import evaluate_pipeline
from cocite_jobs.steps.parts import Result
from cocite_jobs.steps.ranking import chosen_system
from cocite_jobs.steps.ranking import rank_task as module
from cocite_jobs.steps.ranking.chosen_system import ChosenSystem
from cocite_jobs.steps.ranking.rank_task import ChosenTask, RankTask, rank_task
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location

TESTS = Path(__file__).parents[3]
NAMES = ("bm25", "first")


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return untrained_encoders(corpus, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def index(corpus: Corpus, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index") / "index"
    IndexSnapshot.create(corpus, folder, encoders=load_encoders(model))
    return folder


def work(corpus: Corpus, index: Path, model: Path, to: Path, name: str = "first", **chosen: Any) -> RankTask:
    task = ChosenTask(str(corpus.path), corpus.version, "local", "test", sample=50, seed=3)
    system = ChosenSystem.over(index, name, model, **chosen)
    return RankTask(task, system, NAMES, 30, 4, Location.of(to))


def test_a_task_asks_with_the_same_queries_on_each_machine(corpus: Corpus) -> None:
    chosen = ChosenTask(str(corpus.path), corpus.version, "global", "test", sample=5, seed=3, min_citations=4)
    wanted = tasks.global_(corpus, "test", sample=5, seed=3, min_citations=4)
    assert chosen.open().ids == wanted.ids != tasks.global_(corpus, "test", sample=5, seed=3).ids


def same(found: EvalResult, wanted: EvalResult) -> None:
    for array in ("indptr", "ranks", "rows", "citing"):
        np.testing.assert_array_equal(getattr(found.hits, array), getattr(wanted.hits, array))
    for array in ("mean_rank", "max_rank", "queries"):
        np.testing.assert_array_equal(
            getattr(found.self_citation, array), getattr(wanted.self_citation, array)
        )
    assert found.hits.citing is not None
    assert (found.empty, found.hits.depth) == (wanted.empty, wanted.hits.depth)


@pytest.fixture(scope="module")
def wanted(
    corpus: Corpus, index: Path, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[EvalResult, bytes]:
    """What one process finds, without parts, and its run."""
    task = tasks.build(corpus, "local", "test", sample=50, seed=3)
    encoders = systems.encoders_for(model, NAMES)
    opened = index_of(corpus, history_before(corpus, "test"), encoders, saved=open_index(index))
    run = tmp_path_factory.mktemp("wanted") / "run"
    search = systems.open_system("first", model, opened)
    return experiment.run(task, search, k=30, batch=4, to=run, tag="first"), run.read_bytes()


def test_what_parts_find_is_what_one_process_finds(
    corpus: Corpus, index: Path, model: Path, wanted: tuple[EvalResult, bytes], tmp_path: Path
) -> None:
    told: list[int] = []
    results: list[Result] = []
    options: dict[str, Any] = {"advance": told.append, "receive": results.append, "size": 12}
    found = rank_task(
        work(corpus, index, model, tmp_path / "p"), 50, Workers(), run=tmp_path / "run", **options
    )
    same(found, wanted[0])
    assert (tmp_path / "run").read_bytes() == wanted[1]
    assert told == [12, 12, 12, 12, 2]
    assert all(result["cpu_seconds"] > 0 for result in results)
    again = rank_task(work(corpus, index, model, tmp_path / "p"), 50, Workers(), run=None, **options)
    assert told[5:] == [50]
    same(again, wanted[0])


def test_parts_of_another_form_are_made_again(
    corpus: Corpus, index: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = work(corpus, index, model, tmp_path / "p", "bm25")
    told: list[int] = []
    with monkeypatch.context() as before:
        before.setattr(module, "FORM", 1)
        rank_task(chosen, 50, Workers(), run=None, advance=told.append, size=40)
    rank_task(chosen, 50, Workers(), run=None, advance=told.append, size=40)
    assert told == [40, 10, 40, 10]


def test_an_index_without_the_vectors_is_refused(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "bare")
    chosen = work(corpus, tmp_path / "bare", model, tmp_path / "p")
    with pytest.raises(InputError, match="nnselect"):
        rank_task(chosen, 50, Workers(), run=None, advance=lambda _: None)


def report(corpus: Corpus, index: Path, model: Path, to: Path | None, **options: Any) -> Any:
    return evaluate_pipeline(
        corpus,
        model,
        stages=NAMES,
        sample=50,
        seed=3,
        k=30,
        batch=4,
        saved=index,
        to=to,
        **options,
    ).json()


def compared(report: dict[str, Any], to: Path) -> tuple[Any, dict[str, bytes]]:
    """A report without times, and the other files."""
    tables = {name: table for name, table in report["tables"].items() if name != "time"}
    files = {path.name: path.read_bytes() for path in to.iterdir() if path.suffix == ".trec"}
    return (tables, {**report, "tables": None}), files


def test_a_report_of_parts_is_that_of_one_process(
    corpus: Corpus, index: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_system, "PART_LINES", 30 * 12)
    one, parts = tmp_path / "one", tmp_path / "parts"
    assert compared(report(corpus, index, model, parts, workers=Workers()), parts) == compared(
        report(corpus, index, model, one), one
    )
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["one", "parts"]
    with pytest.raises(InputError, match=r"--workers: .*give --index and --to"):
        report(corpus, index, model, None, workers=Workers())


@pytest.mark.integration
def test_tasks_of_ray_give_the_same_and_a_killed_worker_is_replaced(
    corpus: Corpus,
    index: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # the workers read the test's own step
    monkeypatch.setattr(chosen_system, "PART_LINES", 30 * 12)
    one, parts = tmp_path / "one", tmp_path / "parts"
    expected = compared(report(corpus, index, model, one), one)
    with ray_connection("local"):
        with monkeypatch.context() as dying:
            dying.setattr(module, "RankTask", DyingRankTask)
            found = report(corpus, index, model, parts, workers=Workers(on="ray", count=2))
        assert (tmp_path / "died").exists()
        assert compared(found, parts) == expected
        command = ["evaluate", "pipeline", "--corpus", corpus.path, "--model", model, "--index", index]
        command += ["--stages", "bm25,first", "--sample", 50, "--seed", 3, "--k", 30, "--batch", 4]
        command += ["--on", "ray", "--workers", 2, "--to", tmp_path / "cli", "--no-track"]
        code, _, err = call(capsys, *command)
        assert code == 0, err
        written = json.loads((tmp_path / "cli" / "report.json").read_text())
        assert compared(written, tmp_path / "cli") == expected

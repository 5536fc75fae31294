from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.bag_recipe import Task
from helpers.bag_runs import STEPS, long_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, WriteError
from cocite.nn.variables import PRECISION
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import Event, ProgressSender
from cocite_jobs.training.training_run import TrainingRun
from cocite_jobs.training.types import TrainingJob
from cocite_jobs.training.worker import LogKeepingStore, run_worker


def job_of(corpus: Corpus, to: Path, *overrides: str) -> TrainingJob:
    """A job whose run has begun, as a session leaves it."""
    recipe = long_recipe(*overrides)
    state = TrainingRun.of(recipe, Location.of(to)).begin(recipe, corpus, "new")
    return TrainingJob(
        "helpers.bag_recipe:BagRecipe",
        "helpers.bag_recipe:build",
        recipe.model_dump(mode="json"),
        str(corpus.path),
        str(to),
        state.fingerprint,
    )


def test_a_worker_trains_and_leaves_the_model_for_the_driver(corpus: Corpus, tmp_path: Path) -> None:
    events: list[Event] = []
    saved: list[int] = []
    job = job_of(corpus, tmp_path)
    result = run_worker(job, World(), events.append, lambda step, _: saved.append(step))
    assert (result["steps"], result["reason"]) == (STEPS, "done")
    assert saved == [3, 6, 9, 12, 15, 18]
    manifest = verify(tmp_path / ".bag.training" / "model", kind="bag")
    assert manifest.meta["step"] == result["best_step"]
    assert manifest.meta["corpus"] == corpus.version
    assert manifest.meta["recipe"] == job.recipe
    assert manifest.meta["dev"] == {"fit": round(result["best"]["fit"], 6)}
    [note] = manifest.meta["notes"]
    assert note.startswith(f"step {result['best_step']} ")
    assert events[0] == ("stage", "preparing", 0)
    assert ("at", STEPS, STEPS) in events
    assert [step for what, value, step in events if what == "log" and "loss" in value] == list(
        range(1, STEPS + 1)
    )


def test_the_model_says_that_its_time_was_over_and_that_it_was_computed_in_fp32(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PRECISION, "float32")
    long = ("training.steps=100000", "training.checkpoint_every=100000", "training.minutes=0.03")
    job = job_of(corpus, tmp_path, "training.precision=bf16", *long)
    result = run_worker(job, World(), lambda _: None)
    assert (result["reason"], result["precision"]) == ("minutes", "fp32")
    assert 0 < result["steps"] < result["planned"] == 100_000
    _, time, precision = verify(tmp_path / ".bag.training" / "model", kind="bag").meta["notes"]
    assert time.startswith(
        f"the minutes were over at step {result['steps']:,} of 100,000, where the learning rate"
    )
    assert precision == "computed in fp32, for this CPU has no instructions for bf16"


def test_a_worker_without_the_runs_state_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    job = job_of(corpus, tmp_path)
    Location.of(tmp_path / ".bag.training").clear()
    with pytest.raises(CociteError, match=r"rank 0 does not see the training's folder \(workers\.storage"):
        run_worker(job, World(), lambda _: None)


def test_another_corpus_than_the_training_began_with_is_refused(
    corpus: Corpus, synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    other = synthetic(60, seed=12)
    job = replace(job_of(corpus, tmp_path), corpus=str(other.path))
    with pytest.raises(
        CociteError, match=rf"is version {other.version} now, and the training began with {corpus.version}"
    ):
        run_worker(job, World(), lambda _: None)


@pytest.mark.parametrize(
    ("error", "sentence", "kind"),
    [
        (torch.OutOfMemoryError("CUDA"), r"^training: rank 0 is out of GPU memory \(lower", CociteError),
        (OSError(errno.ENOSPC, "No space"), r"no space left on the device", WriteError),
        (ZeroDivisionError("a defect"), "a defect", ZeroDivisionError),
    ],
)
def test_errors_that_the_user_can_do_something_about_are_sentences(
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    sentence: str,
    kind: type[Exception],
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Task, "loss", fail)
    with pytest.raises(kind, match=sentence):
        run_worker(job_of(corpus, tmp_path), World(), lambda _: None)


class MemoryStore:
    """A store of one checkpoint, which is a number of steps."""

    def __init__(self, step: int | None = None) -> None:
        self.step = step

    @contextmanager
    def latest(self) -> Iterator[Path | None]:
        yield Path(f"step-{self.step:08d}") if self.step is not None else None

    def save(self, step: int, write: Any, metrics: Mapping[str, float]) -> None:
        self.step = step


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return TrainingRun(Location.of(tmp_path), is_kept=True)


def test_the_log_is_written_with_a_checkpoint_and_sent_again_on_resuming(run: TrainingRun) -> None:
    saved: list[int] = []
    before: list[Event] = []
    sender = ProgressSender(before.append, TrainingSettings())
    memory = MemoryStore()
    store = LogKeepingStore(memory, World(), run, sender, lambda step, _: saved.append(step))
    with store.latest() as folder:
        assert folder is None
    for step in (1, 2, 3):
        sender.log({"loss": 1.0 / step}, step)
        if step < 3:
            store.save(step, lambda _: None, {})
    assert saved == [1, 2]
    after: list[Event] = []
    sender = ProgressSender(after.append, TrainingSettings())
    resumed = LogKeepingStore(memory, World(), run, sender, None)
    with resumed.latest() as folder:
        assert folder == Path("step-00000002")
    # Step 3 was logged after the checkpoint, so training will log it again.
    assert after == [("stage", "going on from step 2", 0), *before[:2]]
    assert sender.entries == [({"loss": 1.0}, 1), ({"loss": 0.5}, 2)]


def worlds() -> tuple[World, World]:
    """Two ranks, of which the second is told what the first agreed with, though it does nothing itself."""
    from_first: list[Any] = []

    class First(World):
        def agree(self, value: Any) -> Any:
            from_first.append(value)
            return value

    class Second(World):
        first = False  # type: ignore[assignment]

        def agree(self, value: Any) -> Any:
            assert value is None
            return from_first[-1]

    return First(), Second()


def test_a_log_that_cannot_be_written_stops_all_ranks_before_the_checkpoint(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(TrainingRun, "write_log", full)
    for world in worlds():
        memory = MemoryStore()
        store = LogKeepingStore(memory, world, run, ProgressSender(print, TrainingSettings()), None)
        with pytest.raises(CociteError, match=r"checkpoint of step 5 could not be written: No space left on"):
            store.save(5, lambda _: None, {})
        assert memory.step is None


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(errno.EIO, "Input/output error"),
            r"the log up to step 5 could not be read: Input/output err",
        ),
        (CociteError("no answer", where="s3://bucket"), "^s3://bucket: no answer$"),
    ],
)
def test_a_log_that_cannot_be_read_stops_all_ranks(
    run: TrainingRun, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    def unreadable(*_: object) -> None:
        raise error

    monkeypatch.setattr(TrainingRun, "read_log", unreadable)
    for world in worlds():
        store = LogKeepingStore(MemoryStore(5), world, run, ProgressSender(print, TrainingSettings()), None)
        with pytest.raises(CociteError, match=sentence), store.latest():
            pass


def test_a_job_gives_the_same_numbers_each_time_in_one_process(corpus: Corpus, tmp_path: Path) -> None:
    losses = []
    for name in ("a", "b"):
        events: list[Event] = []
        run_worker(job_of(corpus, tmp_path / name), World(), events.append)
        losses.append([value["loss"] for what, value, _ in events if what == "log" and "loss" in value])
    assert losses[0] == losses[1]
    assert len(losses[0]) == STEPS

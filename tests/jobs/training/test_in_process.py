"""Trainings without the engine: refusals, locks, what an unfinished one leaves, and remote model folders."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import counting_recipe
from helpers.counting_recipe import CountingRecipe, counting_kind

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, NotFoundError, WriteError
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.types import LaunchOptions


@pytest.fixture(scope="module", autouse=True)
def kind() -> Iterator[None]:
    with counting_kind():
        yield


class Stop(Exception):
    pass


def count(corpus: Corpus, to: str | Path, start: str = "new", *, stop: int = -1) -> list[int]:
    """Train to the end, or to a number; returns the numbers that were counted."""
    numbers: list[int] = []

    def log(metrics: dict[str, float], number: int) -> None:
        numbers.append(number)
        if number == stop:
            raise Stop(f"number {number}")

    with open_session(CountingRecipe(), corpus, to, LaunchOptions(start=start)) as session:  # type: ignore[arg-type]
        assert (session.is_first, session.mlflow_run) == (True, "")
        session.set_mlflow_run("a1")
        assert session.mlflow_run == ""
        assert session.train(ProgressFunctions(log=log)).metrics == {"number": 3}
    return numbers


def test_options_for_workers_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    for options in (LaunchOptions(on="ray"), LaunchOptions(address="auto")):
        with (
            pytest.raises(InputError, match=r"^--on: counting trains in this process \(leave --on and"),
            open_session(CountingRecipe(), corpus, tmp_path, options),
        ):
            pass
    with open_session(CountingRecipe(), corpus, tmp_path, LaunchOptions(on="process")) as session:
        assert session.is_first


@pytest.mark.parametrize("start", ["new", "fresh"])
def test_an_unfinished_training_leaves_nothing_and_starts_over(
    corpus: Corpus, tmp_path: Path, start: str
) -> None:
    with pytest.raises(NotFoundError, match=r"holds no training to go on with \(leave --resume out\)"):
        count(corpus, tmp_path, "resume")
    with pytest.raises(Stop, match="number 2"):
        count(corpus, tmp_path, stop=2)
    assert list(tmp_path.iterdir()) == []
    assert count(corpus, tmp_path, start) == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["counting"]


def test_two_processes_do_not_train_in_one_folder(corpus: Corpus, tmp_path: Path) -> None:
    with (
        open_session(CountingRecipe(), corpus, tmp_path, LaunchOptions()),
        pytest.raises(BusyError, match=rf"process {os.getpid()} is at work here"),
        open_session(CountingRecipe(), corpus, tmp_path, LaunchOptions()),
    ):
        pass


def test_a_remote_model_folder_gets_the_artifact(corpus: Corpus, remote: str, tmp_path: Path) -> None:
    trained = train(CountingRecipe(last=2), corpus, f"{remote}/model")
    assert Location.of(f"{remote}/model").names() == ["counting"]
    Location.of(f"{remote}/model/counting").get(tmp_path / "back")
    assert verify(tmp_path / "back").files == verify(trained.folder).files
    assert count(corpus, f"{remote}/model") == [1, 2, 3]
    assert Location.of(f"{remote}/model/counting").read("count.txt") == b"3"


def test_a_folder_that_the_model_may_not_replace_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "counting").mkdir()
    (tmp_path / "counting" / "notes.txt").touch()
    with pytest.raises(InputError, match="counting: is not empty and holds no model, so it is not replaced"):
        train(CountingRecipe(), corpus, tmp_path)


def test_a_full_disk_names_the_model_folder(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/temporary")

    monkeypatch.setattr(counting_recipe, "train_counting", full)
    with pytest.raises(WriteError, match=rf"^{tmp_path}: no space left on the device"):
        train(CountingRecipe(), corpus, tmp_path)

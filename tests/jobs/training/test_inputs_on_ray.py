"""Inputs that a task of a real Ray makes: equal to those of one process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.input_recipes import RECIPES, WORDS
from helpers.small_hatten import hatten_recipe
from helpers.synthetic import SyntheticCorpora
from helpers.untrained_encoders import untrained_encoders

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite.pipeline.components import load_encoders
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import InParts, needed_inputs, prepare_inputs
from cocite_jobs.training.inputs_on_ray import prepare_inputs_on_ray
from cocite_jobs.training.progress import ProgressFunctions

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=6)


@pytest.fixture(scope="module", autouse=True)
def _ray_here() -> Iterator[None]:
    """One Ray, whose processes were started in another folder than a test's."""
    with ray_connection("local"):
        yield


class Told:
    """What a training's driver is told of the making."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.count = 0
        self.progress = ProgressFunctions(stage=self.stage, advance=self.advance)

    def stage(self, description: str, size: int) -> None:
        self.stages.append((description, size))

    def advance(self, count: int) -> None:
        self.count += count


def prepare(recipe: Any, corpus: Corpus, to: Path, told: Told) -> bool:
    in_parts = InParts(str(corpus.path), Workers(on="ray"))
    return prepare_inputs_on_ray(recipe, corpus, Location.of(to), told.progress, in_parts)


@pytest.mark.parametrize("kind", ["hatten", "mp-bert4cr"])
def test_the_artifacts_are_those_of_one_process(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    recipe = RECIPES[kind]
    if kind == "hatten":  # a relative path is read from the driver's folder
        monkeypatch.chdir(WORDS.parent)
        recipe = hatten_recipe(words={"source": "file", "path": WORDS.name})
    here, told = Told(), Told()
    assert prepare_inputs(recipe, corpus, Location.of(tmp_path / "here"), here.progress)
    assert prepare(recipe, corpus, tmp_path / "there", told)
    names = [need.prepared.artifact for need in needed_inputs(recipe)]
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == sorted(names)
    for name in names:
        verify(tmp_path / "there" / name)
        assert read_manifest(tmp_path / "there" / name) == read_manifest(tmp_path / "here" / name)
    assert told.stages == [("starting a worker", 0), ("preparing", 0), *here.stages]
    assert told.count == here.count
    # A restart finds them, and asks no worker.
    again = Told()
    assert not prepare(recipe, corpus, tmp_path / "there", again)
    assert again.stages == []
    # Whoever trains there without a cluster finds them, too.
    assert not prepare_inputs(recipe, corpus, Location.of(tmp_path / "there"), again.progress)


@pytest.mark.parametrize("retriever", ["bm25", "nnselect", "nnselect without vectors"])
def test_candidates_are_divided_by_the_driver_and_a_task_makes_the_tokens(
    corpus: Corpus, tmp_path: Path, retriever: str
) -> None:
    name, _, without = retriever.partition(" ")
    for model in ("here", "there") if name == "nnselect" else ():
        untrained_encoders(corpus, tmp_path / model)
    encoders = load_encoders(tmp_path / "here") if name == "nnselect" and not without else ()
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=2015, encoders=encoders)
    usual = RECIPES["cross-encoder"]
    chosen = {"index": str(tmp_path / "index"), "retriever": name}
    recipe = usual.model_copy(update={"candidates": usual.candidates.model_copy(update=chosen)})
    told = Told()
    assert prepare_inputs(recipe, corpus, Location.of(tmp_path / "here"), Told().progress)
    assert prepare(recipe, corpus, tmp_path / "there", told)
    for name in ("candidates", "pair-tokens"):
        assert read_manifest(tmp_path / "there" / name) == read_manifest(tmp_path / "here" / name)
    stages = [name for name, _ in told.stages]
    task = ["starting a worker", "preparing"]
    if without:  # the task makes vectors, too
        assert stages[:3] == [*task, "candidates: indexing"]
        return
    divided = [*([] if encoders else ["candidates: histories"]), "candidates: queries"]
    assert stages[: len(divided) + 2] == [*divided, *task]
    # Of what is there the index is not asked again.
    shutil.move(tmp_path / "index", tmp_path / "elsewhere")
    assert not prepare(recipe, corpus, tmp_path / "there", Told())
    shutil.move(tmp_path / "elsewhere", tmp_path / "index")
    # Tokens of candidates that were mined again are looked at again, too: their manifest says of which they are.
    shutil.rmtree(tmp_path / "there" / "candidates")
    again = Told()
    assert prepare(recipe, corpus, tmp_path / "there", again)
    assert [name for name, _ in again.stages][len(divided) :] == task

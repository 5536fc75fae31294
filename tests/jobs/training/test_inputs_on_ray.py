"""Inputs that a task of a real Ray makes: equal to those of one process, whatever happens to the task."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.bag_runs import TESTS
from helpers.input_recipes import RECIPES, WORDS
from helpers.small_hatten import hatten_recipe
from helpers.synthetic import SyntheticCorpora
from helpers.troubled_inputs import KIND, TroubleRecipe, register

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, NotFoundError, StoppedError
from cocite.manifests import read_manifest
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.run_parts import Workers
from cocite_jobs.storage.location import Location
from cocite_jobs.training import inputs_on_ray
from cocite_jobs.training.inputs import InParts, needed_inputs, prepare_inputs
from cocite_jobs.training.inputs_on_ray import prepare_inputs_on_ray
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.registry import KINDS

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=6)


@pytest.fixture(scope="module", autouse=True)
def _ray_here() -> Iterator[None]:
    """One Ray, whose processes find the helpers, and were started in another folder than a test's."""
    register()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
        with ray_connection("local"):
            yield
    KINDS.pop(KIND)


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


def prepare(recipe: Any, corpus: Corpus, to: Path | str, told: Told | None = None, **changed: Any) -> bool:
    in_parts = InParts(changed.get("source", str(corpus.path)), Workers(on="ray"))
    progress = changed.get("progress", (told or Told()).progress)
    return prepare_inputs_on_ray(recipe, corpus, Location.of(to), progress, in_parts)


def trouble(folder: Path, what: str, **workers: Any) -> TroubleRecipe:
    """The recipe of an input whose maker leaves its notes in a folder."""
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)
    data = {"kind": "troubled", "trouble": {"what": what, "notes": str(notes)}, "workers": workers}
    return TroubleRecipe.parse(data)


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


def test_candidates_are_divided_by_the_driver_and_a_task_makes_the_tokens(
    corpus: Corpus, tmp_path: Path
) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=2015)
    usual = RECIPES["cross-encoder"]
    candidates = usual.candidates.model_copy(update={"index": str(tmp_path / "index")})
    recipe = usual.model_copy(update={"candidates": candidates})
    told = Told()
    assert prepare_inputs(recipe, corpus, Location.of(tmp_path / "here"), Told().progress)
    assert prepare(recipe, corpus, tmp_path / "there", told)
    for name in ("candidates", "pair-tokens"):
        assert read_manifest(tmp_path / "there" / name) == read_manifest(tmp_path / "here" / name)
    stages = [name for name, _ in told.stages]
    assert stages[:4] == ["candidates: histories", "candidates: queries", "starting a worker", "preparing"]
    # Tokens of candidates that were mined again are looked at again, too: their manifest says of which they are.
    shutil.rmtree(tmp_path / "there" / "candidates")
    again = Told()
    assert prepare(recipe, corpus, tmp_path / "there", again)
    assert [name for name, _ in again.stages][2:] == ["starting a worker", "preparing"]


def test_another_process_makes_them_and_a_killed_one_is_replaced(corpus: Corpus, tmp_path: Path) -> None:
    told, to = Told(), tmp_path / "model"
    assert prepare(trouble(tmp_path, "killed once"), corpus, to, told)
    first, second = map(int, (tmp_path / "notes" / "begun").read_text().split())
    assert len({first, second, os.getpid()}) == 3
    assert (to / KIND / "process").read_text() == str(second)
    assert [path.name for path in to.iterdir()] == [KIND]
    assert told.stages[-1] == ("troubles", 7)
    assert told.count == 7


def test_a_task_that_dies_again_and_again_is_a_sentence_and_leaves_no_artifact(
    corpus: Corpus, tmp_path: Path
) -> None:
    with pytest.raises(CociteError, match=r"a worker died once more, after 3 retries.* then run the same"):
        prepare(trouble(tmp_path, "killed"), corpus, tmp_path / "model")
    assert len((tmp_path / "notes" / "begun").read_text().split()) == 4
    assert not (tmp_path / "model" / KIND).exists()
    # What killed processes left is removed by the next one.
    assert prepare(trouble(tmp_path, "nothing"), corpus, tmp_path / "model")
    assert [path.name for path in (tmp_path / "model").iterdir()] == [KIND]


def interrupt() -> None:
    raise KeyboardInterrupt("Ctrl-C")


@pytest.mark.parametrize(
    ("end", "error", "sentence"),
    [
        (interrupt, KeyboardInterrupt, "Ctrl-C"),
        (
            lambda: signal.raise_signal(signal.SIGTERM),
            StoppedError,
            r"training: stopped while its inputs were made \(the same command goes on",
        ),
    ],
    ids=["ctrl-c", "sigterm"],
)
def test_the_end_of_the_driver_ends_the_task_which_leaves_nothing(
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[], None],
    error: type[BaseException],
    sentence: str,
) -> None:
    monkeypatch.setattr(inputs_on_ray, "END_S", 600)  # however busy this machine is
    progress = ProgressFunctions(stage=lambda description, _: end() if description == "troubles" else None)
    with pytest.raises(error, match=sentence):
        prepare(trouble(tmp_path, "long"), corpus, tmp_path / "model", progress=progress)
    # The task could remove its temporary files: it has ended when the driver goes on.
    assert (tmp_path / "notes" / "ended").exists()
    assert list((tmp_path / "model").iterdir()) == []


def test_what_the_task_does_not_see_is_a_sentence(corpus: Corpus, tmp_path: Path, remote: str) -> None:
    nothing = trouble(tmp_path, "nothing")
    with pytest.raises(InputError, match=r"does not see the model folder \(name one that all nodes share"):
        prepare(nothing, corpus, remote)  # each process has a memory of its own
    with pytest.raises(NotFoundError, match="no/corpus: .*sees no such folder"):
        prepare(nothing, corpus, tmp_path / "model", source="/no/corpus")
    seen = tmp_path / "vectors.txt"
    seen.touch()
    data = {"what": "lacks", "notes": str(tmp_path / "notes"), "lacks": str(seen)}
    lacks = TroubleRecipe.parse({"kind": "troubled", "trouble": data})
    sentence = (
        r"vectors\.txt: is here, and the machine that makes the training's inputs does not see it \(put"
    )
    with pytest.raises(InputError, match=sentence):
        prepare(lacks, corpus, tmp_path / "model")
    assert list((tmp_path / "model").iterdir()) == []


def test_an_error_of_a_maker_is_raised_here(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError, match="a defect"):
        prepare(trouble(tmp_path, "defect"), corpus, tmp_path / "model")


def test_the_task_has_the_resources_of_a_worker(corpus: Corpus, tmp_path: Path) -> None:
    import ray

    with pytest.raises(InputError, match="a worker needs 1000 CPU, and no node has them"):
        prepare(trouble(tmp_path, "nothing", cpus=1000), corpus, tmp_path / "model")
    # All cores are taken, and it does not wait longer than the workers of the training would.
    holder = ray.remote(num_cpus=ray.cluster_resources()["CPU"])(Told).remote()
    ray.get(holder.__ray_ready__.remote())
    with pytest.raises(CociteError, match="no worker got its resources in 1 s to make the inputs"):
        prepare(trouble(tmp_path, "nothing", timeout=1), corpus, tmp_path / "model")
    ray.kill(holder)
    assert prepare(trouble(tmp_path, "nothing"), corpus, tmp_path / "model")
    assert (tmp_path / "notes" / "begun").read_text().count("\n") == 1

"""What a training leaves until it is done, and who may go on with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import bag_recipe as bag
from helpers.bag_recipe import BagRecipe

from cocite.artifacts import verify
from cocite.config import with_overrides
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import BusyError, CociteError, ConfigError, InputError, IntegrityError, NotFoundError
from cocite_jobs.storage.location import Location
from cocite_jobs.training.engine_session import resolve_backend
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.training_run import TrainingRun, TrainingState, fixed_settings
from cocite_jobs.training.types import LaunchOptions

TRAINING = {"steps": 8, "batch": 8, "tokens": 20, "log_every": 1, "refresh_every": 1, "evaluate_every": 4}


@pytest.fixture(scope="module", autouse=True)
def kind() -> Iterator[None]:
    bag.enter()
    yield
    bag.KINDS.pop("bag")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(60, seed=11), tmp_path_factory.mktemp("synth") / "store")


def recipe(*overrides: str) -> BagRecipe:
    data = {"kind": "bag", "training": TRAINING, "workers": {"count": 0}}
    return BagRecipe.parse(with_overrides(data, overrides))


class Stop(Exception):
    pass


def go(corpus: Corpus, to: Path, *overrides: str, start: str = "new", stop: int = -1) -> int:
    """Train in this process to the end, each step told once; returns the step from which it went on."""
    steps: list[int] = []
    went_on = [0]

    def log(metrics: dict[str, float], step: int) -> None:
        if "loss" in metrics:
            steps.append(step)
            if step == stop:
                raise Stop

    def stage(text: str, _: int) -> None:
        if text.startswith("going on from step "):
            went_on.append(int(text.split()[-1]))

    with open_session(recipe(*overrides), corpus, to, LaunchOptions(start=start)) as training:  # type: ignore[arg-type]
        training.train(ProgressFunctions(log=log, stage=stage))
    assert steps == list(range(1, TRAINING["steps"] + 1))
    return went_on[-1]


def digest(folder: Path) -> str:
    return verify(folder / "bag", kind="bag").digest


def test_a_stopped_training_asks_and_goes_on_to_the_same_end(corpus: Corpus, tmp_path: Path) -> None:
    go(corpus, tmp_path / "whole")
    model = tmp_path / "model"
    with pytest.raises(Stop):
        go(corpus, model, stop=6)
    with pytest.raises(
        InputError, match=r"unfinished training, up to step 4 \(pass --resume to go on with it, or"
    ):
        go(corpus, model)
    # Who trains, for how long, and how often it is looked at, may change.
    assert go(corpus, model, "training.keep=1", "training.tokens=40", start="resume") == 4
    assert [path.name for path in model.iterdir()] == ["bag"]
    assert verify(model / "bag").files == verify(tmp_path / "whole" / "bag").files
    with pytest.raises(NotFoundError, match="holds no training to go on with"):
        go(corpus, model, start="resume")


def test_fresh_starts_over(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, stop=6)
    assert go(corpus, tmp_path, start="fresh") == 0


def test_before_the_first_checkpoint_there_is_nothing_to_ask_about(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, "examples=40", stop=2)
    assert go(corpus, tmp_path) == 0


@pytest.mark.parametrize("where", ["folder", "elsewhere"])
def test_a_named_storage_keeps_its_checkpoints(corpus: Corpus, tmp_path: Path, where: str) -> None:
    import fsspec

    storage = str(tmp_path / "storage") if where == "folder" else f"memory://{tmp_path.name}"
    named = f"workers.storage={storage}"
    with pytest.raises(Stop):
        go(corpus, tmp_path / "model", named, stop=6)
    with pytest.raises(
        InputError, match=r"holds another training: its examples is 48, not 40 \(name another"
    ):
        go(corpus, tmp_path / "model", named, "examples=40")
    assert go(corpus, tmp_path / "model", named, start="resume") == 4
    place = Location.of(storage)
    assert {name for name in place.names() if name[0] != "."} == {
        "run.json",
        "log.json",
        "step-00000004",
        "step-00000008",
    }
    for start in ("new", "resume"):
        with pytest.raises(
            InputError, match=r"the training there is finished \(pass --fresh to train anew\)"
        ):
            go(corpus, tmp_path / "model", named, start=start)
    before = digest(tmp_path / "model")
    assert go(corpus, tmp_path / "model", named, start="fresh") == 0
    assert digest(tmp_path / "model") == before
    if where == "elsewhere":
        fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def test_a_model_folder_elsewhere(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    to = f"memory://{tmp_path.name}/model"
    Location.of(f"{tmp_path}/corpus").put(corpus.path)
    trained = train(recipe(), corpus, to)
    assert Location.of(to).names() == ["bag"]
    assert verify(trained.folder, kind="bag").meta["corpus"] == corpus.version
    fsspec.filesystem("memory").rm(f"/{tmp_path.name}", recursive=True)


def test_a_damaged_checkpoint_is_named_with_the_one_that_is_whole(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path, "training.checkpoint_every=2", stop=7)
    shard = tmp_path / ".bag.training" / "step-00000006" / "shard-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    with pytest.raises(
        IntegrityError, match=r"step-00000006/shard.*damaged.*to resume from step-00000004, which is"
    ):
        go(corpus, tmp_path, "training.checkpoint_every=2", start="resume")


def test_two_do_not_train_in_one_place(corpus: Corpus, tmp_path: Path) -> None:
    with (
        open_session(recipe(), corpus, tmp_path, LaunchOptions()),
        pytest.raises(BusyError, match=rf"process {os.getpid()} is at work here"),
        open_session(recipe(), corpus, tmp_path, LaunchOptions()),
    ):
        pass


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("nan", r"^training: the loss became nan in step 6 "),
        ("full", r"model: no space left on the device \(free some space"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_leaves_the_last_checkpoint(
    corpus: Corpus, tmp_path: Path, what: str, sentence: str
) -> None:
    mark = tmp_path / "mark"
    mishap = f"mishap={json.dumps({'what': what, 'step': 5, 'marked': str(mark)})}"
    with pytest.raises(CociteError, match=sentence):
        go(corpus, tmp_path / "model", mishap)
    assert go(corpus, tmp_path / "model", mishap, start="resume") == 4


def test_a_corpus_that_is_replaced_before_the_workers_open_it_is_told(tmp_path: Path) -> None:
    store = build(Synthetic(60, seed=11), tmp_path / "store")
    with open_session(recipe(), store, tmp_path / "model", LaunchOptions()) as training:
        build(Synthetic(60, seed=12), tmp_path / "store", replace=True)
        sentence = rf"store: is version \w+ now, and the training began with {store.version} \(the corpus was replaced"
        with pytest.raises(CociteError, match=sentence):
            training.train(ProgressFunctions())


def test_what_the_model_may_not_replace_is_told_before_it_is_trained(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"bag: is not empty and holds no model, so it is not replaced"):
        go(corpus, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_several_workers_get_ddp_unless_a_backend_was_chosen() -> None:
    assert resolve_backend(recipe(), 1).training.backend == "plain"
    assert resolve_backend(recipe(), 2).training.backend == "ddp"
    assert resolve_backend(recipe("training.backend=deepspeed"), 2).training.backend == "deepspeed"
    with pytest.raises(
        ConfigError, match=r"training\.backend: .*plain trains on one worker, and there are 2"
    ):
        resolve_backend(recipe("training.backend=plain"), 2)


def test_what_may_change_is_no_part_of_a_training() -> None:
    one, same = (
        fixed_settings(recipe()),
        fixed_settings(recipe("workers.count=4", "training.zero=3", "training.minutes=5")),
    )
    assert one == same
    assert one != fixed_settings(recipe("training.batch=9"))


def test_a_record_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"kind": 3}')
    with pytest.raises(IntegrityError, match=r"run\.json: is not the record of a training"):
        TrainingRun(Location.of(tmp_path), is_kept=True).read_state()
    assert TrainingState("bag", {"a": 1}, "v").fingerprint != TrainingState("bag", {"a": 2}, "v").fingerprint


def test_kinds_of_one_process_know_no_workers(corpus: Corpus, tmp_path: Path) -> None:
    from cocite_jobs.training.recipes import load_recipe

    for manner, sentence in (
        (LaunchOptions(on="ray"), "nnselect trains in this process"),
        (LaunchOptions(address="auto"), "nnselect trains in this process"),
        (LaunchOptions(start="resume"), "holds no training to go on with"),
    ):
        with (
            pytest.raises(InputError, match=sentence),
            open_session(load_recipe("nnselect"), corpus, tmp_path, manner),
        ):
            pass

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers.artifacts import write_artifact
from helpers.bag_recipe import BagRecipe
from helpers.bag_runs import long_recipe
from helpers.small_disk import run_on_disk

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError, WriteError
from cocite.training.engine.settings import TrainingSettings
from cocite_jobs.storage.location import Location
from cocite_jobs.training.training_run import (
    CHANGEABLE,
    TrainingRun,
    TrainingState,
    fixed_settings,
    temporary_model,
)


@pytest.fixture(params=["local", "remote"])
def run(request: pytest.FixtureRequest, remote: str, tmp_path: Path) -> TrainingRun:
    folder = tmp_path / "run" if request.param == "local" else f"{remote}/run"
    return TrainingRun(Location.of(folder), is_kept=True)


def add_checkpoint(run: TrainingRun, step: int) -> None:
    (run.location / f"step-{step:08d}").write("shard", "weights")


def test_the_settings_of_resources_and_pace_may_change() -> None:
    resumed = long_recipe("workers.count=4", "training.zero=3", "training.minutes=5", "training.keep=1")
    assert fixed_settings(long_recipe()) == fixed_settings(resumed)
    assert fixed_settings(long_recipe()) != fixed_settings(long_recipe("training.batch=9"))
    assert fixed_settings(long_recipe()) != fixed_settings(long_recipe("examples=9"))


def test_the_changeable_settings_exist() -> None:
    assert CHANGEABLE.keys() <= BagRecipe.model_fields.keys()
    assert set(CHANGEABLE["training"] or ()) <= TrainingSettings.model_fields.keys()


def test_a_state_is_read_as_it_was_written(run: TrainingRun) -> None:
    assert run.read_state() is None
    state = TrainingState("bag", {"a": [1, {"b": None}]}, "v", mlflow="a1", finished=True)
    run.write_state(state)
    assert run.read_state() == state


def test_a_state_that_cannot_be_read_is_named(run: TrainingRun) -> None:
    for text in ('{"kind": 3}', "{", "[]"):
        run.location.write("run.json", text)
        with pytest.raises(IntegrityError, match=r"run\.json: is not the record of a training \(start over"):
            run.read_state()


def test_a_fingerprint_depends_on_what_is_trained_alone() -> None:
    state = TrainingState("bag", {"a": 1}, "v")
    same = TrainingState("bag", {"a": 1}, "v", mlflow="a1", finished=True)
    others = [TrainingState("bag", {"a": 2}, "v"), TrainingState("gab", {"a": 1}, "v")]
    others.append(TrainingState("bag", {"a": 1}, "w"))
    assert same.fingerprint == state.fingerprint
    assert len({state.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_a_log_is_read_up_to_a_step(run: TrainingRun) -> None:
    assert run.read_log(9) == []
    run.write_log([({"loss": 2.0}, 1), ({"fit": 0.5}, 3), ({"loss": 1.0}, 4)])
    assert run.read_log(3) == [({"loss": 2.0}, 1), ({"fit": 0.5}, 3)]
    run.location.write("log.json", "{")
    assert run.read_log(3) == []


def test_a_run_lies_in_the_storage_or_hidden_in_the_model_folder(tmp_path: Path) -> None:
    hidden = TrainingRun.of(long_recipe(), Location.of(tmp_path))
    assert (hidden.location.local, hidden.is_kept) == (tmp_path / ".bag.training", False)
    stored = TrainingRun.of(long_recipe(f"workers.storage={tmp_path}/storage"), Location.of(tmp_path))
    assert (stored.location.local, stored.is_kept) == (tmp_path / "storage", True)


def test_a_run_begins_where_nothing_is_and_resumes_where_a_checkpoint_is(
    run: TrainingRun, corpus: Corpus
) -> None:
    with pytest.raises(NotFoundError, match="holds no training to go on with"):
        run.begin(long_recipe(), corpus, "resume")
    state = run.begin(long_recipe(), corpus, "new")
    assert run.read_state() == state
    assert run.begin(long_recipe(), corpus, "new") == state  # there is no checkpoint to lose
    add_checkpoint(run, 3)
    add_checkpoint(run, 12)
    with pytest.raises(InputError, match=r"holds an unfinished training, up to step 12 \(pass --resume"):
        run.begin(long_recipe(), corpus, "new")
    assert run.begin(long_recipe("workers.count=2"), corpus, "resume") == state
    with pytest.raises(InputError, match=r"holds another training: its examples is 48, not 40 "):
        run.begin(long_recipe("examples=40"), corpus, "resume")


def test_a_fresh_run_removes_checkpoints_and_nothing_else(run: TrainingRun, corpus: Corpus) -> None:
    run.begin(long_recipe(), corpus, "new")
    add_checkpoint(run, 3)
    (run.location / "mining-00000003-9f86d081884c7d65").write("00000-mining-papers-000000000000", "block")
    run.location.write("notes.txt", "mine")
    run.begin(long_recipe("examples=40"), corpus, "fresh")
    assert run.location.names() == ["notes.txt", "run.json"]


def test_the_difference_of_two_trainings_is_named(run: TrainingRun, corpus: Corpus) -> None:
    mine = run.begin(long_recipe(), corpus, "new")
    add_checkpoint(run, 3)
    for other, sentence in (
        (TrainingState("gab", mine.recipe, mine.corpus), "its kind is gab"),
        (TrainingState("bag", mine.recipe, "older"), "its corpus is another"),
    ):
        run.write_state(other)
        with pytest.raises(InputError, match=f"holds another training: {sentence}"):
            run.begin(long_recipe(), corpus, "resume")


def test_a_published_model_closes_the_run(run: TrainingRun, tmp_path: Path) -> None:
    state = TrainingState("bag", {}, "v")
    run.write_state(state)
    run.model.put(write_artifact(tmp_path / "made"))
    to = Location.of(tmp_path / "model" / "thing")
    run.publish_model(to, state)
    assert verify(tmp_path / "model" / "thing").meta == {"of": "weights"}
    assert run.read_state() == TrainingState("bag", {}, "v", finished=True)
    assert run.model.names() == []
    hidden = TrainingRun(run.location, is_kept=False)
    hidden.model.put(write_artifact(tmp_path / "made"))
    hidden.publish_model(to, state, lambda artifact: {"files": sorted(os.listdir(artifact))})
    manifest = verify(tmp_path / "model" / "thing")
    assert manifest.meta == {"of": "weights", "files": ["b.txt", "inner", "manifest.json"]}
    assert hidden.location.names() == []


def test_a_damaged_model_is_not_published(run: TrainingRun, tmp_path: Path) -> None:
    run.model.put(write_artifact(tmp_path / "made"))
    run.model.write("b.txt", "wrong")
    with pytest.raises(IntegrityError, match=r"b\.txt: damaged"):
        run.publish_model(Location.of(tmp_path / "model"), TrainingState("bag", {}, "v"))
    assert not (tmp_path / "model").exists()


def test_a_storage_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    run = TrainingRun(Location.of(tmp_path / "storage"), is_kept=True)
    with run.lock():
        with pytest.raises(BusyError, match=rf"storage: process {os.getpid()} is at work here"), run.lock():
            pass
        with TrainingRun(run.location, is_kept=False).lock():  # the model folder's lock protects it
            pass


def test_the_state_is_stored_as_documented(tmp_path: Path, corpus: Corpus) -> None:
    run = TrainingRun(Location.of(tmp_path), is_kept=True)
    run.begin(long_recipe(), corpus, "new")
    state = json.loads((tmp_path / "run.json").read_text())
    assert state.keys() == {"kind", "recipe", "corpus", "mlflow", "finished"}
    assert "workers" not in state["recipe"]


FULL_TEMPORARY = """
import os, sys, tempfile
from pathlib import Path
disk = sys.argv[1]
tempfile.tempdir = disk
from cocite.errors import WriteError
from cocite_jobs.training.training_run import temporary_model
try:
    with temporary_model() as model:
        model.mkdir()
        (model / "model.safetensors").write_bytes(bytes(2**21))
except WriteError as error:
    print(error)
print(os.listdir(disk))
"""


def test_a_model_for_which_the_temporary_disk_has_no_room_is_one_sentence(tmp_path: Path) -> None:
    said, left = run_on_disk(tmp_path / "disk", FULL_TEMPORARY).splitlines()
    assert said == (
        f"{tmp_path}/disk: the trained model could not be written: no space left on the device (make room there, or "
        "set TMPDIR to another folder; then pass --resume: its checkpoints are whole)"
    )
    assert left == "[]"


def test_an_error_about_another_place_than_the_temporary_one_keeps_its_own(tmp_path: Path) -> None:
    with (
        pytest.raises(WriteError, match=r"^model: no space left \(free some\)$"),
        temporary_model(),
    ):
        raise WriteError("no space left", where="model", hint="free some")


FULL_MODEL_FOLDER = """
import sys
from pathlib import Path
from cocite.artifacts import publish
from cocite.errors import CociteError
from cocite_jobs.storage.location import Location
from cocite_jobs.training.training_run import TrainingRun, TrainingState
disk, storage = sys.argv[1:]
run = TrainingRun(Location.of(storage), is_kept=True)
with publish(Path(storage, "model"), kind="bag", meta={}) as folder:
    (folder / "model.safetensors").write_bytes(bytes(2**21))
try:
    run.publish_model(Location.of(disk) / "bag", TrainingState("bag", {}, corpus="a"))
except CociteError as error:
    print(error)
print(sorted(path.name for path in Path(disk).iterdir()), run.model.names())
"""


def test_a_model_folder_without_room_is_named_and_the_trained_model_stays(tmp_path: Path) -> None:
    said, left = run_on_disk(tmp_path / "disk", FULL_MODEL_FOLDER, tmp_path / "storage").splitlines()
    assert said.startswith(f"{tmp_path}/disk/bag: no space left on the device (")
    assert left == "[] ['manifest.json', 'model.safetensors']"

"""Trainings that cannot begin or end: because of another one, a folder that may not be written, a full disk."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.small_disk import run_on_disk, run_without_rights

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import training_lock
from cocite_jobs.training.recipes import load_recipe, shipped_recipes
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import open_session, train
from cocite_jobs.training.types import LaunchOptions

SMALL = [
    "model.dimension=8",
    "training.batch=256",
    "training.epochs=1",
    "training.optimizer.learning_rate=0.02",
]

TRAIN = """
import sys
from cocite.corpus.store import Corpus
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train

def log(metrics, step):
    if step and "R@20" in metrics:
        print("evaluated", flush=True)
        input()

corpus, to, *overrides = sys.argv[1:]
train(load_recipe("nnselect", overrides), Corpus.open(corpus), to, ProgressFunctions(log=log))
"""
CALL = """
import contextlib, io, json, sys
from cocite.cli import main

def call(command):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main(command)
            code = 0
        except SystemExit as ended:
            code = ended.code
    return code, said.getvalue().strip().splitlines()
"""
"""Defines ``call``: the exit code of a command line, and the lines that it wrote on standard error."""
CALL_EACH = CALL + "print(json.dumps([call(command) for command in json.loads(sys.argv[-1])]))"


@contextmanager
def training(corpus: Corpus, to: Path, *overrides: str) -> Iterator[subprocess.Popen[str]]:
    """A real training in a process of its own, which waits after its first epoch."""
    command = [sys.executable, "-c", TRAIN, str(corpus.path), str(to), *overrides]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline() not in ("evaluated\n", ""):
            pass
        try:
            yield process
        finally:
            process.kill()


def test_the_second_of_two_trainings_is_refused_and_cannot_remove_the_checkpoint_of_the_first(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*SMALL, "training.epochs=2"]
    again = command(corpus, "nnselect", tmp_path, *arguments)
    train(load_recipe("nnselect", SMALL), corpus, tmp_path)
    earlier = verify(tmp_path / "nnselect").digest
    with training(corpus, tmp_path, *arguments) as process:
        training_folder = tmp_path / ".nnselect.training"
        for options in ([], ["--fresh"]):
            code, out, err = call(capsys, *again, *options)
            assert (code, out) == (4, "")
            sentence = f"{tmp_path}: process {process.pid} is at work here"
            assert err == f"cocite: {sentence} (wait until it ends, or name another folder)\n"
            assert training_folder.is_dir()
    assert verify(tmp_path / "nnselect").digest == earlier
    code, _, err = call(capsys, *again, "--fresh")
    assert code == 0, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nnselect", "paper-words"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_trained_by_one_process_at_a_time(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    recipe = next(recipe for recipe in map(load_recipe, shipped_recipes()) if recipe.kind == kind)  # type: ignore[attr-defined]
    with (
        training_lock(Location.of(tmp_path), kind),
        pytest.raises(BusyError, match=r"process \d+ is at work here"),
        open_session(recipe, corpus, tmp_path, LaunchOptions(start="fresh")),
    ):
        pass


def command(corpus: Corpus, recipe: str, to: Path, *overrides: str) -> list[str]:
    return ["train", recipe, *overrides, "--corpus", str(corpus.path), "--to", str(to), "--no-track"]


def test_a_folder_that_may_not_be_written_is_refused_before_anything_is_trained(
    corpus: Corpus, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir(mode=0o555)
    commands = [command(corpus, recipe, folder) for recipe in ("nnselect", "mp-bert4cr")]
    for code, lines in json.loads(run_without_rights(CALL_EACH, json.dumps(commands))):
        assert (code, len(lines)) == (1, 1)
        assert lines[0].startswith(f"cocite: {folder}")
        assert lines[0].endswith(": cannot be written: permission denied")
    assert list(folder.iterdir()) == []


def test_a_read_only_file_system_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    commands = json.dumps([command(corpus, "nnselect", tmp_path / "disk")])
    [(code, lines)] = json.loads(run_on_disk(tmp_path / "disk", CALL_EACH, commands, options="ro"))
    assert (code, len(lines)) == (1, 1)
    assert lines[0].startswith(f"cocite: {tmp_path / 'disk'}")
    assert lines[0].endswith(": cannot be written: read-only file system")


def test_a_model_folder_that_is_a_file_is_refused(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for to in (tmp_path / "file", tmp_path / "file" / "below"):
        code, _, err = call(capsys, *command(corpus, "nnselect", to))
        assert (code, err) == (
            2,
            f"cocite: {tmp_path / 'file'}: is a file, not a folder to write into (choose another folder)\n",
        )


def test_a_folder_that_a_model_may_not_replace_is_refused_before_anything_is_trained(
    corpus: Corpus, tmp_path: Path
) -> None:
    (tmp_path / "nnselect").mkdir()
    (tmp_path / "nnselect" / "notes.txt").touch()
    with pytest.raises(InputError, match=r"nnselect: is not empty and holds no model, so it is not replaced"):
        train(load_recipe("nnselect", SMALL), corpus, tmp_path)


FULL = f"""
import os, shutil
from pathlib import Path
from cocite.artifacts import verify
{CALL}
folder, model, command = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
for free in map(int, sys.argv[4:]):
    shutil.copytree(model, folder + "/model")
    room = os.statvfs(folder)
    with open(folder + "/fill", "wb") as file:
        file.write(b"x" * max(0, room.f_bavail * room.f_bsize - free))
    code, lines = call(command)
    left = sorted(path.name for path in Path(folder, "model").iterdir())
    print(json.dumps([code, lines[-1], verify(Path(folder, "model", "nnselect")).digest, left]))
    shutil.rmtree(folder + "/model")
    os.unlink(folder + "/fill")
"""


def test_a_full_disk_is_an_error_and_leaves_the_earlier_model(corpus: Corpus, tmp_path: Path) -> None:
    train(load_recipe("nnselect", SMALL), corpus, tmp_path / "model")
    disk = tmp_path / "disk"
    again = json.dumps(command(corpus, "nnselect", disk / "model", *SMALL))
    # Room for nothing; for the lock file; for the checkpoint, but not for the model beside it.
    output = run_on_disk(disk, FULL, tmp_path / "model", again, 0, 4096, 65536, options="size=3m")
    remains = []
    for code, sentence, digest, left in map(json.loads, output.strip().splitlines()):
        assert code == 1
        assert sentence.startswith(f"cocite: {disk / 'model'}")
        assert "no space left on the device" in sentence
        assert digest == verify(tmp_path / "model" / "nnselect").digest
        remains.append(left)
    whole = ["nnselect", "paper-words"]
    assert remains == [whole, [".nnselect.training", *whole], [".nnselect.training", *whole]]


def test_an_interrupt_is_one_word_and_leaves_the_earlier_model(corpus: Corpus, tmp_path: Path) -> None:
    model, log = tmp_path / "model", tmp_path / "log"
    train(load_recipe("nnselect", SMALL), corpus, model)
    digest = verify(model / "nnselect").digest
    script = "import signal, cocite.cli\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ncocite.cli.main()"
    overrides = [*SMALL, "training.epochs=10000", "training.patience=10000"]
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *command(corpus, "nnselect", model, *overrides)], stderr=file
        )
        while "R@20" not in log.read_text() and process.poll() is None:
            time.sleep(0.05)
        code = None
        for _ in range(5):  # Python loses an interrupt that comes while it finalises an object
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(60)
                break
    assert (code, log.read_text().splitlines()[-1]) == (130, "cocite: stopped")
    assert verify(model / "nnselect").digest == digest
    assert {path.name for path in model.iterdir()} <= {"nnselect", "paper-words", ".nnselect.training"}

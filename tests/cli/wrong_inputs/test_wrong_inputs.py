"""Wrong inputs to every command: refused in one sentence, with nothing lost, changed or left behind."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from cli.wrong_inputs import corpus_rows, evaluate_rows, index_rows, other_rows, rank_rows
from helpers import wrong_inputs
from helpers.command_line import call
from helpers.wrong_inputs import Wrong

from cocite.cli import root

pytestmark = pytest.mark.usefixtures("signal_handlers")

ROWS = [*corpus_rows.ROWS, *index_rows.ROWS, *rank_rows.ROWS, *evaluate_rows.ROWS, *other_rows.ROWS]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toys")


@pytest.fixture(scope="session")
def names(folder: Path) -> dict[str, str]:
    return wrong_inputs.make(folder)


@pytest.fixture(autouse=True)
def _no_zotero(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Zotero that happens to run on this machine is not asked."""
    monkeypatch.setenv("COCITE_ZOTERO_PORT", "9")


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """Each file of a folder but locks, by what changes when it is written to, replaced or removed."""
    files = (path for path in folder.rglob("*") if not path.is_dir() and "locks" not in path.parts)
    return {str(path): (s := path.lstat(), (s.st_ino, s.st_size, s.st_mtime_ns))[1] for path in files}


def commands() -> set[str]:
    """Every command that can be typed, as ``corpus import``."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        if not hasattr(command, "list_commands"):
            yield " ".join(path)
            return
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))

    context = click.Context(root)
    return set(walk(root, ()))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.line.split('{')[0].strip()}: {row.what}" for row in ROWS])
def test_it_is_refused_in_a_sentence_and_nothing_is_lost(
    row: Wrong,
    folder: Path,
    names: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    arguments = [part.format_map(names | {"tmp": str(tmp_path)}) for part in shlex.split(row.line)]
    before = state(folder)
    code, _, err = call(capsys, *arguments)
    assert code == row.code, err
    lines = err.lstrip("\n").splitlines()
    sentence, *usage = [line for line in lines if not line.startswith("cocite: warning: ")]
    assert sentence.startswith("cocite: "), err
    assert all(line.startswith(("Usage: ", " ")) for line in usage), err
    assert len(sentence) < 1000, err
    at = 0
    for words in row.words:
        assert words in sentence[at:], err
        at = sentence.index(words, at) + len(words)
    assert state(folder) == before, "a file was changed"
    assert os.listdir(tmp_path) == [row.leaves] * bool(row.leaves), "something was left behind"


def test_every_command_has_rows_and_they_are_many() -> None:
    lines = [row.line for row in ROWS]
    without = {name for name in commands() if not any(f"{line} ".startswith(f"{name} ") for line in lines)}
    assert not without
    assert len(ROWS) >= 200
    assert len(set(lines)) == len(lines), "a row stands twice"

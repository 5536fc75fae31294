"""Ctrl-C at random moments of each command that writes: what was there stays, and nothing is left beside it.

Each run is a process forked from this one, so that it begins with everything imported: a tenth of what a new one costs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tqdm
from helpers.command_line import call

from cocite.artifacts import publish, verify
from cocite.cli import main, root
from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.synth import Synthetic

RUNS = 10
MOST_RUNS = 50
"""Where none of ``RUNS`` was interrupted: the one that was timed had a slow moment."""
LEAKED = 70
"""Exit code of a process whose command let an exception out."""


@pytest.fixture(scope="module", autouse=True)
def _without_threads() -> None:
    """End the thread that watches progress bars: it would be missing in what is forked from this process."""
    tqdm.tqdm.monitor_interval = 0
    if tqdm.tqdm.monitor is not None:
        tqdm.tqdm.monitor.exit()
        tqdm.tqdm.monitor = None


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toys")
    synthetic = Synthetic(150, seed=2)
    last = int(synthetic.year([149])[0])
    corpus = build(synthetic, folder / "corpus", split=by_year_name(last - 2, last - 1))
    for run in range(MOST_RUNS + 3):
        lines = [json.dumps({"id": f"n{run}-{i}", "title": corpus.paper(i).title}) + "\n" for i in range(150)]
        (folder / f"papers-{run}.jsonl").write_text("".join(lines))
    return folder


def commands(toys: Path, at: Path, run: int = 0) -> dict[str, list[object]]:
    """Each command with what it writes to, all of which is there before; each run adds papers of its own."""
    corpus, papers, index = toys / "corpus", toys / f"papers-{run}.jsonl", at / "index"
    return {
        "import": ["corpus", "import", papers, "--to", at / "store", "--replace"],
        "split": ["corpus", "split", corpus, "--random", ".1,.1", "--to", at / "store", "--replace"],
        "synth": ["corpus", "synth", "--papers", 150, "--seed", 5, "--to", at / "store", "--replace"],
        "starter": ["corpus", "starter", "--to", at / "store", "--replace"],
        "export": ["corpus", "export", corpus, "--task", "global", "--to", at / "export", "--replace"],
        "build": ["index", "build", corpus, "--to", index, "--keep", 1],
        "add": ["index", "add", index, papers, "--keep", 1],
        "remove": ["index", "remove", index, "S00000001", "--keep", 1],
        "rank": ["rank", "--queries", papers, "--index", index, "--pipeline", "bm25", "--to", at / "run"],
        "train": ["train", "nnselect", "training.epochs=2", "model.dimension=8", "--corpus", corpus,
                  "--to", at / "model", "--no-track", "--fresh"],
        "publish": ["model", "export", at / "model", "--to", at / "repository", "--replace"],
        "embed": ["embed", corpus, "--model", at / "model", "--encoder", "nnselect", "--to", at / f"vectors-{run}"],
        "tune": ["tune", "run", "bm25", "budget.trials=3", "study.queries=20", "--corpus", corpus, "--to",
                 at / "sweep", "--no-track", "--fresh"],
        "evaluate": ["evaluate", "pipeline", "--corpus", corpus, "--no-track", "--stages", "bm25", "--k", 50,
                     "--to", at / "report"],
    }  # fmt: skip


def interruptible(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` with Ctrl-C blocked before and after it: one that comes earlier is raised when it begins."""

    def unblocked(*arguments: Any, **options: Any) -> Any:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            return run(*arguments, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    return unblocked


def begin(line: list[object], log: Path) -> int:
    """Run a command line in a forked process, its output in a file; returns its id once it can be interrupted."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        return child
    code = LEAKED
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        # What `main` handles begins with `root.main`: before it, a slow process would not be in its `try` yet.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        root.main = interruptible(root.main)  # type: ignore[method-assign]
        os.write(writer, b"x")
        try:
            main([str(part) for part in line])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    except BaseException:
        if code == LEAKED:
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end(child: int) -> int:
    """Wait for a process; returns its exit code, or the negative of what killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(at: Path, code: int, text: str) -> None:
    """Fail if anything was lost, or said in other words than a sentence."""
    assert "Traceback" not in text, text
    assert "Exception ignored" not in text, text
    assert code in (0, 130), (code, text)
    for artifact in (at / "store", at / "export", at / "repository", at / "model" / "nnselect"):
        verify(artifact)
    for files in (at / "run", *(at / "report").iterdir()):
        assert files.read_bytes().endswith(b"\n"), f"{files} was cut"
    version = (at / "index" / "CURRENT").read_text().split()[0]
    verify(at / "index" / "versions" / version)
    if code == 130:
        assert text.rstrip().endswith("cocite: stopped"), text


@pytest.fixture(scope="module")
def made(toys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands write to, for each test to copy."""
    folder = tmp_path_factory.mktemp("made")
    lines = commands(toys, folder / "at")
    for name in ("synth", "export", "build", "rank", "train", "publish", "evaluate"):
        assert end(begin(lines[name], folder / "log")) == 0, (folder / "log").read_text()
    return folder / "at"


@pytest.mark.parametrize("name", list(commands(Path(), Path())))
def test_what_was_there_stays(
    name: str, toys: Path, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = tmp_path / "at"
    shutil.copytree(made, at)
    code, _, err = call(capsys, *commands(toys, at)[name])  # what it imports, each process below has already
    assert code == 0, err
    log, chance = tmp_path / "log", random.Random(name)
    began = time.monotonic()
    assert end(begin(commands(toys, at, 1)[name], log)) == 0, log.read_text()
    usual = time.monotonic() - began
    run = interrupted = 0
    while run < RUNS or (not interrupted and run < MOST_RUNS):
        began = time.monotonic()
        child = begin(commands(toys, at, 2 + run)[name], log)
        time.sleep(chance.uniform(0, usual))
        os.kill(child, signal.SIGINT)
        code = end(child)
        check(at, code, log.read_text())
        if code == 0:
            usual = min(usual, time.monotonic() - began)
        interrupted += code == 130
        run += 1
    assert interrupted, "every run had ended before it was interrupted"
    assert end(begin(commands(toys, at, 2 + run)[name], log)) == 0, log.read_text()
    assert not list(at.rglob(".*.tmp")), "temporary files are left"


def test_what_a_killed_writer_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        with publish(tmp_path / "art", kind="thing", meta={}) as folder:
            (folder / "a").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    assert end(child) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    with publish(tmp_path / "art", kind="thing", meta={}) as folder:
        assert len(list(tmp_path.iterdir())) == 1, "what the killed one left is still there"
        (folder / "a").write_text("whole")
    assert os.listdir(tmp_path) == ["art"]

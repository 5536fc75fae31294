"""A full disk: each command that writes says so of its destination, and what was there stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.corpus.builder import build
from cocite.corpus.splits import by_year_name
from cocite.corpus.synth import Synthetic
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.training.train import train

MOUNTED = 'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"'
"""Mounts a small file system in a namespace that nobody else sees, and runs a command there."""


def in_small_disk(disk: Path, *command: object) -> subprocess.CompletedProcess[str]:
    line = ["unshare", "--mount", "sh", "-c", MOUNTED, disk, *command]
    return subprocess.run([*map(str, line)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("disk")
    if shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs unshare")
    tried = in_small_disk(path, "true")
    if tried.returncode:
        pytest.skip(f"a file system of its own cannot be mounted here: {tried.stderr.strip()}")
    return path


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toys")
    synthetic = Synthetic(150, seed=2)
    last = int(synthetic.year([149])[0])
    corpus = build(synthetic, folder / "corpus", split=by_year_name(last - 2, last - 1))
    train(
        NNSelectRecipe.parse({"training": {"epochs": 1}, "model": {"dimension": 16}}),
        corpus,
        folder / "model",
    )
    IndexSnapshot.create(corpus, folder / "index")
    titles = [json.dumps({"id": str(i), "title": corpus.paper(i).title}) + "\n" for i in range(100)]
    (folder / "queries.jsonl").write_text(titles[0])
    (folder / "many.jsonl").write_text("".join(titles))
    papers = [{"id": f"n{i}", "title": f"New paper {i}", "abstract": "words " * 200} for i in range(300)]
    (folder / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    return folder


def test_no_space_left_names_the_destination_and_nothing_changes(disk: Path, toys: Path) -> None:
    done = in_small_disk(disk, sys.executable, Path(__file__).with_name("full_disk.py"), disk, toys)
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert len(results) == 13
    for result in results:
        # Epochs of a training come before.
        sentence = result["err"].splitlines()[-1]
        assert result["code"] == 1, result
        assert sentence.startswith(f"cocite: {result['to']}"), result
        assert "no space left on the device" in sentence, result
        changed = {Path(name).relative_to(disk).as_posix() for name in result["changed"]}
        words = {name for name in changed if name.startswith("model/paper-words/")}
        # A training keeps what it is of, and what it made and logged, to be resumed from.
        kept = {
            "words": {"words/.nnselect.training/run.json"},
            "model": {f"model/.nnselect.training/{name}.json" for name in ("log", "run")} | words,
        }
        assert changed == kept.get(Path(result["to"]).name, set()), result
        assert bool(words) == (result["to"] == f"{disk}/model"), result

"""Runs commands whose destination has no space left, and prints what came of each as JSON.

``python full_disk.py DISK TOYS``: DISK is a small file system of its own, TOYS a folder with a corpus, a model, queries
and papers.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path

from cocite.cli import main


def run(*line: object) -> tuple[int, str]:
    """Exit code and standard error of a command line."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
        try:
            main([str(part) for part in line])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, err.getvalue()


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file but locks, by what changes when it is written to or replaced."""
    files = (path for path in folder.rglob("*") if path.is_file() and "locks" not in path.parts)
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def fill(disk: Path, leave: int) -> None:
    """Take all space but some bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk)
    with filler.open("wb") as file:
        file.write(bytes(max(free.f_bavail * free.f_frsize - leave, 0)))


def ran(disk: Path, toys: Path) -> list[dict[str, object]]:
    """What came of each command."""
    corpus, model, queries = toys / "corpus", toys / "model", toys / "queries.jsonl"
    store, index, report = disk / "store", disk / "index", disk / "report"
    for line in (
        ("corpus", "synth", "--papers", 20, "--to", store),
        ("index", "build", store, "--to", index),
        ("rank", "--queries", queries, "--to", disk / "run.trec", "--index", index),
        ("evaluate", "pipeline", "--corpus", corpus, "--no-track", "--sample", 2, "--k", 2, "--to", report),
    ):
        assert run(*line)[0] == 0, line
    fill(disk, 40_000)
    vectors = ("--model", model, "--vectors", "flat")
    run_options = ("--queries", toys / "many.jsonl", "--index", toys / "index")
    evaluate = ("evaluate", "pipeline", "--corpus", corpus)
    train = ("train", "nnselect", "training.epochs=1", "--corpus", corpus, "--no-track")
    results = []
    for destination, *line in (
        (store, "corpus", "synth", "--papers", 1000, "--to", store, "--replace"),
        (store, "corpus", "import", toys / "papers.jsonl", "--to", store, "--replace"),
        (store, "corpus", "split", corpus, "--random", ".1,.1", "--to", store, "--replace"),
        (store, "corpus", "starter", "--to", store, "--replace"),
        (index, "index", "build", corpus, "--to", index, *vectors),
        (index, "index", "add", index, toys / "papers.jsonl"),
        (index, "index", "remove", index, "S00000001"),
        (disk / "run.trec", "rank", *run_options, "--to", disk / "run.trec"),
        (disk / "run.trec.gz", "rank", *run_options, "--to", disk / "run.trec.gz"),
        (report, *evaluate, "--no-track", "--to", report),
        (disk / "runs", *evaluate, "--sample", 2, "--tracking", disk / "runs"),
        (disk / "words", *train, "--to", disk / "words"),
        (disk / "model", *train, "--to", disk / "model"),
    ):
        if destination == disk / "model":
            # Enough for the numbered words of the papers, and too little for the first checkpoint.
            fill(disk, 120_000)
        before = state(disk)
        code, err = run(*line)
        after = state(disk)
        changed = sorted(
            name
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name) and not name.startswith(str(disk / "runs"))
        )
        results.append(
            {"line": [*map(str, line)], "to": str(destination), "code": code, "err": err, "changed": changed}
        )
    for line in (("corpus", "verify", store), ("index", "verify", index)):
        code, err = run(*line)
        assert code == 0, err
    return results


if __name__ == "__main__":
    print(json.dumps(ran(Path(sys.argv[1]), Path(sys.argv[2]))))  # noqa: T201

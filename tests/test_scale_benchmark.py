"""The benchmark of growing corpora: it goes on where it was stopped, and what it measures is what it says."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.retrieval.index.sharded_index import ShardedIndex

pytest.importorskip("benchmarks.scale", reason="run from a checkout")

from benchmarks import _measured_process, _scale_steps, _timed_first_stage
from benchmarks._measured_process import measured
from benchmarks._timed_first_stage import StepClock
from benchmarks.scale import Key, Results, Runner, tables

STEPS = ("corpus", "cocite build", "cocite open", "cocite local", "cocite global")
PEERS = ("tantivy build", "tantivy local", "tantivy global", "faiss build", "faiss global")


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    return argparse.Namespace(
        papers=[100],
        shards=[1, 2],
        queries=3,
        turns=1,
        peers=True,
        results=tmp_path / "r.jsonl",
        memory=8.0,
        corpus={},
        index={},
        keep=None,
    )


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Key]:
    """The steps that are run, each replaced by an empty folder where it makes one."""
    keys: list[Key] = []

    def run_step(self: Runner, key: Key, command: list[object]) -> dict[str, Any]:
        keys.append(key)
        if "--to" in command or key.step.endswith("build"):
            Path(str(command[command.index("--to") + 1] if "--to" in command else command[-1])).mkdir(
                parents=True, exist_ok=True
            )
        return {"wall_s": 1.0, "cpu_s": 1.0, "anonymous_mb": 1.0, "mapped_mb": 1.0, "says": {}}

    monkeypatch.setattr(Runner, "run_step", run_step)
    return keys


def test_queries_of_an_index_are_timed_by_step(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    corpus = synthetic(300, seed=5)
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    for kind in ("local", "global"):
        asked = _scale_steps.ask(corpus.path, tmp_path / "index", kind, count=2, turns=1)
        assert set(asked["steps_ms"]) == set(_timed_first_stage.STEPS)
        assert all(of_step["p50"] > 0 for of_step in asked["steps_ms"].values()), asked


def test_a_finished_run_is_not_run_again(options: argparse.Namespace, ran: list[Key], tmp_path: Path) -> None:
    Runner(options, tmp_path / "work").run()
    assert {key.step for key in ran} == {*STEPS, *PEERS}
    assert len(ran) == 1 + 2 * 4 + 5 == len(set(ran))
    ran.clear()
    Runner(options, tmp_path / "work").run()
    assert ran == []
    assert "| 100 | 2 | cocite build | 1.0 |" in tables(Results(options.results))


def test_a_stopped_run_takes_the_steps_that_are_missing_and_what_they_need(
    options: argparse.Namespace, ran: list[Key], tmp_path: Path
) -> None:
    Runner(options, tmp_path / "work").run()
    lines = options.results.read_text().splitlines(keepends=True)
    missing = next(line for line in lines if '"cocite global"' in line and '"shards": 2' in line)
    options.results.write_text("".join(line for line in lines if line != missing) + missing[:30])
    ran.clear()
    Runner(options, tmp_path / "work").run()
    assert ran == [Key(100, 0, "corpus"), Key(100, 2, "cocite build"), Key(100, 2, "cocite global")]
    assert all(json.loads(line) for line in options.results.read_text().splitlines())


def test_kept_and_given_folders_are_used_again(
    options: argparse.Namespace, ran: list[Key], tmp_path: Path
) -> None:
    options.keep = tmp_path / "work"
    Runner(options, options.keep).run()
    lines = options.results.read_text().splitlines(keepends=True)
    options.results.write_text("".join(line for line in lines if '"cocite local"' not in line))
    ran.clear()
    Runner(options, options.keep).run()
    assert ran == [Key(100, 1, "cocite local"), Key(100, 2, "cocite local")]
    options.corpus, options.index, options.shards = {100: tmp_path}, {(100, 3): tmp_path}, [3]
    ran.clear()
    Runner(options, options.keep).run()
    assert ran == [Key(100, 3, f"cocite {step}") for step in ("open", "local", "global")]


def test_memory_beyond_the_limit_ends_a_step_for_good(tmp_path: Path) -> None:
    code = "x = bytearray(300_000_000)\nx[::4096] = b'a' * len(x[::4096])\nimport time; time.sleep(600)"
    start = time.monotonic()
    result = measured([sys.executable, "-c", code], 100e6)
    assert time.monotonic() - start < 300
    assert result["failed"].startswith("took more than")
    results = Results(tmp_path / "r.jsonl")
    results.add(Key(1, 1, "a"), result)
    results.add(Key(1, 1, "b"), {"failed": "ended with 1"})
    assert Results(tmp_path / "r.jsonl").done(Key(1, 1, "a"))
    assert not Results(tmp_path / "r.jsonl").done(Key(1, 1, "b"))


SAMPLED = """
import json, pathlib, sys, time
x = b"a" * 200_000_000
end = time.monotonic() + 60
while not pathlib.Path(sys.argv[1]).exists() and time.monotonic() < end:
    time.sleep(0.01)
print(json.dumps({"n": len(x)}))
"""


def test_a_process_is_measured_with_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends when a sample has found its memory, however late that is taken."""
    resident = _measured_process.resident

    def noted(pid: int) -> dict[str, int]:
        found = resident(pid)
        if found.get("RssAnon", 0) > 190e6:
            (tmp_path / "sampled").touch()
        return found

    monkeypatch.setattr(_measured_process, "resident", noted)
    result = measured([sys.executable, "-c", SAMPLED, tmp_path / "sampled"], 1e12)
    assert result["says"] == {"n": 200_000_000}
    assert 190 < result["anonymous_mb"] < 400
    assert measured([sys.executable, "-c", "raise SystemExit(3)"], 1e12)["failed"] == "ended with 3"


def test_an_inner_step_is_not_counted_for_the_outer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, now = StepClock(), iter([0.0, 1.0, 11.0, 13.0])
    monkeypatch.setattr("benchmarks._timed_first_stage.time.perf_counter", lambda: next(now))
    with clock.step("outer"), clock.step("inner"):
        pass
    assert clock.wall == {"outer": 3.0, "inner": 10.0}
    clock.reset()
    assert not clock.wall

"""Parts are made once, in order of asking, in this process and on a real Ray; what died or failed is made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.killed_driver import run_killed
from helpers.squares import Squares, parts

from cocite.errors import CociteError, InputError
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps import run_parts as module
from cocite_jobs.steps.parts import FinishedParts
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location

PROCESS, RAY = Workers(), Workers(on="ray", count=2)
TESTS = Path(__file__).parents[2]
SQUARES = [{"square": n**2} for n in range(6)]


def finished(folder: Path, key: str = "squares") -> FinishedParts:
    return FinishedParts(Location.of(folder / "parts"), key)


def made(folder: Path) -> list[str]:
    """The parts that were begun, in alphabetical order."""
    return sorted((folder / "made.log").read_text().split())


def test_parts_are_made_and_progress_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    results = run_parts(Squares(tmp_path), parts(6), finished(tmp_path), PROCESS, advance=told.append)
    assert results == SQUARES
    assert told == [1] * 6
    assert [(tmp_path / f"{n:02d}").read_text() for n in range(6)] == [str(n**2) for n in range(6)]


def test_what_is_finished_is_not_made_again(tmp_path: Path) -> None:
    run_parts(Squares(tmp_path), parts(4), finished(tmp_path), PROCESS)
    told: list[int] = []
    results = run_parts(Squares(tmp_path), parts(6), finished(tmp_path), PROCESS, advance=told.append)
    assert results == SQUARES
    assert told == [4, 1, 1]
    assert made(tmp_path) == [f"{n:02d}" for n in range(6)]


def test_another_key_makes_all_again(tmp_path: Path) -> None:
    for key in ("corpus 1", "corpus 2"):
        run_parts(Squares(tmp_path), parts(2), finished(tmp_path, key), PROCESS)
    assert made(tmp_path) == ["00", "00", "01", "01"]


def test_an_error_keeps_what_was_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="03: has no square"):
        run_parts(Squares(tmp_path, fails_at=3), parts(6), finished(tmp_path), PROCESS)
    assert run_parts(Squares(tmp_path), parts(6), finished(tmp_path), PROCESS) == SQUARES
    assert made(tmp_path).count("02") == 1


@pytest.mark.integration
def test_tasks_of_ray_give_the_same_and_a_killed_worker_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))  # the workers read the test's own step
    with ray_connection("local"):
        work = Squares(tmp_path, dies_at=2)
        assert run_parts(work, parts(6), finished(tmp_path), RAY) == SQUARES
        # The part whose worker died was made again, and each worker opened the work once.
        assert made(tmp_path).count("02") == 2
        assert len(list(tmp_path.glob("opened-*"))) <= 3
        with pytest.raises(InputError, match="03: has no square"):
            run_parts(Squares(tmp_path, fails_at=3), parts(6), finished(tmp_path, "b"), RAY)
        assert run_parts(Squares(tmp_path), parts(6), finished(tmp_path, "b"), RAY) == SQUARES
        # A private Ray never grows, whatever was said of waiting.
        for asked in ({"cpus": 1000.0}, {"gpus": 1.0, "wait": True}, {"accelerator": "H100"}):
            with pytest.raises(InputError, match="no node has them"):
                run_parts(work, parts(6), finished(tmp_path, "c"), replace(RAY, **asked))


def test_a_worker_on_a_named_type_of_gpu_reserves_one_that_the_cluster_does_not_have_yet() -> None:
    nodes = [{"CPU": 4.0}]
    named = Workers(on="ray", gpus=None, accelerator="H100", wait=True).on_nodes(nodes)
    assert named.needs == {"CPU": 1.0, "GPU": 1, "accelerator_type:H100": 0.001}
    assert named.options == {"num_cpus": 1.0, "num_gpus": 1, "accelerator_type": "H100"}
    assert Workers(on="ray", gpus=0.0, accelerator="H100").on_nodes(nodes).gpus == 0.0


DRIVER = """
import sys
from pathlib import Path
from helpers.squares import Squares, parts
from cocite_jobs.steps import run_parts as module
from cocite_jobs.steps.parts import FinishedParts
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location
folder = Path(sys.argv[1])
finished = FinishedParts(Location.of(folder / "parts"), "squares")
run_parts(Squares(folder), parts(40), finished, Workers(on="ray", count=1))
"""


@pytest.mark.integration
def test_a_killed_driver_loses_at_most_the_parts_in_the_making(tmp_path: Path) -> None:
    run_killed(DRIVER, tmp_path, recorded=tmp_path / "parts" / "*.json", count=5)
    kept = finished(tmp_path).read()
    assert 5 <= len(kept) < 40
    before = len(made(tmp_path))
    results = run_parts(Squares(tmp_path), parts(len(kept) + 3), finished(tmp_path), PROCESS)
    assert results == [{"square": n**2} for n in range(len(kept) + 3)]
    # At most the part that was in the making when the driver was killed is made twice.
    assert len(made(tmp_path)) - before <= 4
    assert before - len(kept) <= 2


def test_a_cluster_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CociteError, match="no Ray cluster answers at 127.0.0.1:1"):
        run_parts(Squares(tmp_path), parts(1), finished(tmp_path), Workers(on="ray", address="127.0.0.1:1"))


def test_a_step_ends_when_its_cluster_has_had_no_node_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    check, some, none = module.NodeCheck({"CPU": 2.0}), [{"CPU": 2.0}], [{"CPU": 1.0}]
    now = iter([100.0, 130.0, 200.0, 229.0, 230.1])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    check.check(none)
    check.check(none)  # 30 s later: one may still come
    check.check(some)
    check.check(none)
    check.check(none)
    with pytest.raises(InputError, match="a worker needs 2 CPU, and no node has them"):
        check.check(none)

"""What is kept, what is made again, and what is said of what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cocite.errors import BusyError, InputError, IntegrityError
from cocite.evaluation.report import Table
from cocite.locks import locked
from cocite.progress_bars import Advance
from cocite_jobs.reproduction import reproduce as reproduction
from cocite_jobs.reproduction import rerankers
from cocite_jobs.reproduction.plan import Exhibit, Plan, Setup
from cocite_jobs.reproduction.reproduce import IDENTITY, SPENT, STOPPED, Outcome, reproduce
from cocite_jobs.training import progress


def files_of(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    }


@pytest.mark.integration
@pytest.mark.parametrize("paper", ["citeomatic", "nogueira", "hatten", "mp-bert4cr"])
def test_a_second_run_does_nothing(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup], paper: str
) -> None:
    first, setup = reproduced(paper), toy_setup(paper)
    before = files_of(setup.folder)
    again = reproduce(paper, setup)
    assert (again.trained, again.made) == ([], [])
    assert again.contents.json() == first.contents.json()
    assert files_of(setup.folder) == before


class Interrupted:
    """Bars of a user who presses Ctrl-C when a step whose name begins so advances while something is the case."""

    def __init__(self, description: str, when: Callable[[], bool] = lambda: True) -> None:
        self.description, self.when = description, when

    @contextmanager
    def __call__(self, description: str, total: int | None = None) -> Iterator[Advance]:
        def advance(count: int) -> None:
            if description.startswith(self.description) and self.when():
                raise KeyboardInterrupt("Ctrl-C")

        yield advance


def test_a_stopped_training_goes_on_from_its_checkpoint(
    empty_setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "POSITION_INTERVAL_S", 0.0)  # each step is told
    # Enough steps that a checkpoint, which a thread writes, is there before the last one.
    monkeypatch.setattr(rerankers, "TINY_ENCODER", (*rerankers.TINY_ENCODER, "training.steps=100"))
    run = empty_setup.model / ".masked-lm.training"

    def has_checkpoint() -> bool:
        return any(run.glob("step-*"))

    stopped = replace(empty_setup, bars=Interrupted("training encoder", has_checkpoint))
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        reproduce("nogueira", stopped, only=["table1", "table4"])
    assert has_checkpoint()
    report = json.loads((empty_setup.folder / "report.json").read_text())
    assert [exhibit["id"] for exhibit in report["exhibits"]] == ["table1"], (
        "what needs no training is there first"
    )
    assert report["missing"] == {"Table 4: BM25 by the form of the query, on dev": STOPPED}
    # A training that would begin anew is refused beside these checkpoints: it goes on.
    outcome = reproduce("nogueira", empty_setup, only=["table1", "table4"])
    assert outcome.trained == ["encoder", "reranker"]
    assert outcome.made == ["table4"]
    assert not run.exists()
    log = outcome.contents.json()["exhibits"][1]["models"]
    assert [model["model"] for model in log] == ["model/masked-lm", "model/cross-encoder"]


def test_what_a_stopped_run_has_made_is_kept(empty_setup: Setup) -> None:
    stopped = replace(empty_setup, bars=Interrupted("ranking: K = 5"))
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        reproduce("citeomatic", stopped, only=["table1", "table4"])
    report = json.loads((empty_setup.folder / "report.json").read_text())
    assert [exhibit["id"] for exhibit in report["exhibits"]] == ["table1"]
    assert list(report["missing"].values()) == [STOPPED]
    outcome = reproduce("citeomatic", empty_setup, only=["table1", "table4"])
    assert (outcome.trained, outcome.made) == ([], ["table4"])
    assert outcome.contents.missing == {}
    text = (empty_setup.folder / "index.html").read_text()
    assert 'id="table4"' in text
    assert 'id="missing"' not in text


def test_only_what_is_asked_for_is_made_and_what_was_made_stays_on_the_page(empty_setup: Setup) -> None:
    first = reproduce("nogueira", empty_setup, only=["table1"])
    assert (first.trained, first.made) == ([], ["table1"])
    assert first.contents.missing == {}
    again = reproduce("nogueira", empty_setup, only=["table1"])
    assert (again.trained, again.made) == ([], [])
    assert [made.id for made in again.contents.made] == ["table1"]


def test_a_spent_budget_leaves_the_rest_to_the_next_run(empty_setup: Setup) -> None:
    outcome = reproduce("nogueira", empty_setup, budget=1e-9)
    assert (outcome.trained, outcome.made) == ([], [])
    assert set(outcome.contents.missing.values()) == {SPENT}
    assert len(outcome.contents.missing) == 5
    assert "budget was spent" in (empty_setup.folder / "report.md").read_text()


def test_another_view_of_what_was_measured_is_made_though_the_budget_is_spent(
    empty_setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def slow(_: Setup) -> Table:
        now[0] = 10.0
        return Table("", ["what", "value"], [["papers", 5]])

    first = Exhibit("table1", "Table 1: the corpus", slow, "cocite corpus stats")
    others = replace(first, id="table2", title="Table 2"), replace(first, id="table3", title="Table 3")
    plan = Plan("nogueira", "", (), (first, others[0], replace(others[1], measured_with="table1")), {})
    monkeypatch.setattr(reproduction, "plan_of", lambda *_: plan)
    monkeypatch.setattr(reproduction, "Budget", partial(reproduction.Budget, clock=lambda: now[0]))
    outcome = reproduce("nogueira", empty_setup, budget=5)
    assert outcome.made == ["table1", "table3"]
    assert outcome.contents.missing == {"Table 2": SPENT}


def test_a_training_that_fails_is_told_and_what_does_not_need_it_is_made(empty_setup: Setup) -> None:
    setup = replace(empty_setup, encoder="no/such-encoder")
    outcome = reproduce("nogueira", setup, only=["table1", "table4"])
    assert outcome.made == ["table1"]
    [why] = outcome.contents.missing.values()
    assert why.startswith("Its training reranker failed: ")
    assert "no/such-encoder" in why


def test_a_folder_of_another_reproduction_is_refused(empty_setup: Setup) -> None:
    reproduce("nogueira", empty_setup, only=["table1"])
    with pytest.raises(
        InputError, match=r"holds a reproduction whose paper is 'nogueira', not 'hatten' \(name"
    ):
        reproduce("hatten", empty_setup, only=["table1"])
    with pytest.raises(InputError, match="whose seed is 0, not 1"):
        reproduce("nogueira", replace(empty_setup, seed=1), only=["table1"])
    with pytest.raises(InputError, match="whose size is 'toy', not 'small'"):
        reproduce("nogueira", replace(empty_setup, size="small"), only=["table1"])


def test_a_folder_of_something_else_is_refused(empty_setup: Setup) -> None:
    empty_setup.folder.mkdir()
    (empty_setup.folder / "thesis.tex").touch()
    with pytest.raises(InputError, match="is not empty and holds no reproduction"):
        reproduce("nogueira", empty_setup)
    assert [path.name for path in empty_setup.folder.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="is a file, not a folder"):
        reproduce("nogueira", replace(empty_setup, folder=empty_setup.folder / "thesis.tex"))


def test_a_damaged_record_is_named(empty_setup: Setup) -> None:
    empty_setup.folder.mkdir()
    (empty_setup.folder / IDENTITY).write_text("[]")
    with pytest.raises(IntegrityError, match="is not the record of a reproduction"):
        reproduce("nogueira", empty_setup)


def test_a_table_that_is_not_there_is_refused(empty_setup: Setup) -> None:
    with pytest.raises(
        InputError, match=r"--only: cocite makes no 'table5' of nogueira .* it makes table1, table2"
    ):
        reproduce("nogueira", empty_setup, only=["table5"])
    assert not empty_setup.folder.exists()


def test_two_runs_do_not_work_in_one_folder(empty_setup: Setup) -> None:
    empty_setup.folder.mkdir()
    with (
        locked(empty_setup.folder.with_name(f".{empty_setup.folder.name}.lock")),
        pytest.raises(BusyError, match="is at work here"),
    ):
        reproduce("nogueira", empty_setup, only=["table1"])

"""Several seeds at toy size, against the reproductions of single ones."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cocite.corpus.store import Corpus
from cocite.errors import BusyError, InputError
from cocite.locks import locked
from cocite.progress_bars import Advance
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import SPENT, STOPPED, Outcome, reproduce
from cocite_jobs.reproduction.trials import parse_seeds, reproduce_trials

SEEDS = (0, 5)
ONLY = ["table1", "table4"]


@pytest.fixture(scope="module")
def setup(toy_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(toy_corpus, tmp_path_factory.mktemp("trials") / "to", "toy")


@pytest.fixture(scope="module")
def outcome(setup: Setup) -> Outcome:
    return reproduce_trials("citeomatic", setup, SEEDS, only=ONLY)


def test_means_and_deviations_are_those_of_the_single_seeds(
    outcome: Outcome, setup: Setup, tmp_path: Path
) -> None:
    assert outcome.trained == [f"seed-{seed}: {name}" for seed in SEEDS for name in ("nnselect", "nnrank")]
    assert outcome.contents.missing == {}
    single = [
        reproduce(
            "citeomatic",
            replace(setup, seed=seed, sample_seed=SEEDS[0], folder=tmp_path / str(seed)),
            only=["table4"],
        ).contents.made[0]
        for seed in SEEDS
    ]
    report = json.loads((setup.folder / "report.json").read_text(encoding="utf-8"))
    assert report["seeds"] == "0, 5"
    [corpus, table4] = report["exhibits"]
    assert corpus["trials"][0]["rows"] == corpus["rows"], "no training changes the corpus"
    columns = [column for column in table4["columns"] if column.startswith(("R@20", "P@20"))]
    assert len(columns) == 4
    differ = 0
    for i, row in enumerate(table4["rows"]):
        for column in columns:
            at = table4["columns"].index(column)
            values = [float(made.table.rows[i][at]) for made in single]
            assert [trial["rows"][i][column] for trial in table4["trials"]] == pytest.approx(values)
            assert row[column] == pytest.approx(statistics.mean(values))
            deviation = table4["deviations"][i][column]
            assert (deviation or 0) == pytest.approx(statistics.stdev(values), abs=1e-6)
            differ += deviation is not None
    assert differ > 0, "the seeds' models differ"
    assert "±" in (setup.folder / "report.md").read_text(encoding="utf-8")
    models = [model["model"] for model in table4["models"]]
    assert models == [f"seed-{s}/model/{name}" for s in SEEDS for name in ("nnselect", "nnrank")]
    assert [model["seed"] for model in table4["models"]] == [0, 0, 5, 5]
    assert table4["command"].count("--seed 0") == 2, "all trials ask with the same queries"


def test_a_second_run_does_nothing_and_a_further_seed_only_its_own(outcome: Outcome, setup: Setup) -> None:
    again = reproduce_trials("citeomatic", setup, SEEDS, only=ONLY)
    assert (again.trained, again.made) == ([], [])
    assert again.contents.json() == outcome.contents.json()
    more = reproduce_trials("citeomatic", setup, (*SEEDS, 7), only=["table1"])
    assert (more.trained, more.made) == ([], ["seed-7: table1"])
    assert "seeds 0, 5, 7" in more.contents.trials["table1"].table.note
    assert "seeds 0, 5;" in more.contents.trials["table4"].table.note, "what two of three have is shown"


def test_trials_of_other_queries_are_refused_and_the_page_stays(outcome: Outcome, setup: Setup) -> None:
    before = outcome.page.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="whose query seed is 0, not 5"):
        reproduce_trials("citeomatic", setup, SEEDS[::-1], only=ONLY)
    with pytest.raises(InputError, match="whose size is 'toy', not 'small'"):
        reproduce_trials("citeomatic", replace(setup, size="small"), SEEDS, only=["table1"])
    assert outcome.page.read_text(encoding="utf-8") == before


def test_a_spent_budget_leaves_the_trials_to_the_next_run(empty_setup: Setup) -> None:
    outcome = reproduce_trials("nogueira", empty_setup, (1, 2), only=["table1", "table4"], budget=1e-9)
    assert (outcome.trained, outcome.made) == ([], [])
    title = "Table 4: BM25 by the form of the query, on dev"
    assert outcome.contents.missing[f"{title}, seed 1, 2"] == SPENT


def test_the_trials_that_are_left_divide_what_is_left_of_the_budget(
    empty_setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[float | None] = []

    def spend(paper: str, setup: Setup, *, budget: float | None, **_: object) -> Outcome:
        budgets.append(budget)
        now[0] += 10
        return reproduce(paper, setup, only=["table1"])

    now = [0.0]
    monkeypatch.setattr("cocite_jobs.reproduction.trials.reproduce", spend)
    reproduce_trials("nogueira", empty_setup, (1, 2, 3), only=["table1"], budget=90, clock=lambda: now[0])
    assert budgets == [30, 40, 70]


def test_a_stopped_trial_is_told_and_gone_on_with(empty_setup: Setup) -> None:
    @contextmanager
    def stop(description: str, total: int | None = None) -> Iterator[Advance]:
        if description.startswith("training nnrank: "):
            raise KeyboardInterrupt("Ctrl-C")
        yield lambda count: None

    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        reproduce_trials("citeomatic", replace(empty_setup, bars=stop), (0, 1), only=["table1", "table4"])
    report = json.loads((empty_setup.folder / "report.json").read_text(encoding="utf-8"))
    assert set(report["missing"].values()) == {STOPPED}
    outcome = reproduce_trials("citeomatic", empty_setup, (0, 1), only=["table1", "table4"])
    assert outcome.trained == ["seed-0: nnrank", "seed-1: nnselect", "seed-1: nnrank"]
    assert outcome.contents.missing == {}


def test_a_folder_of_something_else_is_refused(empty_setup: Setup) -> None:
    reproduce("nogueira", empty_setup, only=["table1"])
    with pytest.raises(InputError, match="is not empty and holds the reproduction of one seed"):
        reproduce_trials("nogueira", empty_setup, (0, 1), only=["table1"])
    other = replace(empty_setup, folder=empty_setup.folder / "tables")
    with pytest.raises(InputError, match="holds no reproduction of several seeds"):
        reproduce_trials("nogueira", other, (0, 1), only=["table1"])


def test_two_runs_do_not_work_in_one_folder(empty_setup: Setup) -> None:
    empty_setup.folder.mkdir()
    with (
        locked(empty_setup.folder.with_name(f".{empty_setup.folder.name}.lock")),
        pytest.raises(BusyError, match="is at work here"),
    ):
        reproduce_trials("nogueira", empty_setup, (0, 1), only=["table1"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0", "there are 1 seeds"),
        ("0,0", "a seed is there twice"),
        ("0,-1", "is no list of seeds"),
        ("0,,1", "is no list of seeds"),
        ("0,2147483648", "is no list of seeds"),
        (",".join(map(str, range(101))), "there are 101 seeds"),
    ],
)
def test_bad_lists_of_seeds_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_seeds(text)

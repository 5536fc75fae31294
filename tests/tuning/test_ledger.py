"""The files that a sweep goes on from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError
from cocite_tuning.run.trial_store import Ledger
from cocite_tuning.run.trials import Trials
from cocite_tuning.sweep.sweep import Sweep

SWEEP = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [-3, 3]}},
    "metric": {"name": "height"},
    "keep": 1,
}


def opened(folder: Path, start: str = "new", corpus: str = "c1", **changed: object):  # type: ignore[no-untyped-def]
    return Ledger.opened(folder, Sweep.parse(SWEEP | changed), corpus, start=start, patient=False)  # type: ignore[arg-type]


def end(ledger: Ledger, number: int, height: float) -> None:
    ledger.begin(number, f"run {number}")
    ledger.tell(number, {"height": height / 2}, 1)
    ledger.tell(number, {"loss": 1.0}, 1)
    ledger.tell(number, {"height": height}, 2)
    ledger.end(number, "finished", {"height": height})
    ledger.save()


def test_a_killed_driver_leaves_what_ended_and_what_was_under_way(empty: Path) -> None:
    with opened(empty) as ledger:
        ledger.keep_run("parent")
        for number in range(3):
            ledger.enter(number, {"x": float(number)}, "")
        end(ledger, 1, 0.5)
        ledger.begin(2, "run 2")
        ledger.tell(2, {"height": 0.1}, 1)
        ledger.save()
        files = {path.name: path.read_bytes() for path in empty.glob("*.json")}
    for name, data in files.items():  # as they were when it was killed, not as it would have left them
        (empty / name).write_bytes(data)
    with opened(empty, "resume", budget={"trials": 99}) as ledger:
        assert ledger.run_id == "parent"
        assert list(ledger.done) == [1]
        trial = ledger.done[1]
        assert trial.curve == ((1, {"height": 0.25, "loss": 1.0}), (2, {"height": 0.5}))
        assert trial.run_id == "run 1"
        assert {number: begun.run_id for number, begun in ledger.under_way.items()} == {0: "", 2: "run 2"}
        assert ledger.under_way[2].params == {"x": 2.0}
        assert ledger.under_way[2].curve == [(1, {"height": 0.1})]
        assert ledger.next_number == 3


def test_a_trial_that_ended_is_under_way_no_more_whenever_the_driver_died(empty: Path) -> None:
    with opened(empty) as ledger:
        ledger.enter(0, {"x": 0.0}, "")
        before = (empty / "under_way.json").read_bytes()
        end(ledger, 0, 1.0)
    (empty / "under_way.json").write_bytes(before)  # it died between the two files
    with opened(empty, "resume") as ledger:
        assert list(ledger.done) == [0]
        assert not ledger.under_way


def test_seconds_add_up_over_deaths(empty: Path) -> None:
    with opened(empty) as ledger:
        ledger.enter(0, {"x": 0.0}, "")
        ledger.begin(0, "")
    record = json.loads((empty / "under_way.json").read_text())
    record[0]["seconds"] = 100.0
    (empty / "under_way.json").write_text(json.dumps(record))
    with opened(empty, "resume") as ledger:
        end(ledger, 0, 1.0)
        assert 100 <= ledger.done[0].seconds < 200


def test_what_is_there_is_gone_on_with_only_when_asked_and_only_where_it_is_the_same(empty: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no sweep to go on with"), opened(empty, "resume"):
        pass
    with opened(empty) as ledger:
        end_all = ledger.enter(0, {"x": 0.0}, "")
        assert end_all.number == 0
        end(ledger, 0, 1.0)
        (ledger.trial_folder(0)).mkdir(parents=True)
    (empty / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds a sweep"), opened(empty):
        pass
    other = {"space": {"x": {"uniform": [-3, 4]}}}
    with (
        pytest.raises(
            InputError, match=r"holds another sweep: its space\.x\.uniform is \[-3, 3\], not \[-3, 4\]"
        ),
        opened(empty, "resume", **other),
    ):
        pass
    with pytest.raises(InputError, match="its corpus is another"), opened(empty, "resume", corpus="c2"):
        pass
    with opened(empty, "resume", budget={"trials": 3}, retries=9) as ledger:
        assert list(ledger.done) == [0]
    with opened(empty, "fresh", **other) as ledger:
        assert not ledger.done
    assert not Trials.read(empty / "trials.json").trials
    assert (empty / "notes.txt").read_text() == "mine"
    assert not (empty / "trials").exists()


def test_one_process_at_a_time(empty: Path) -> None:
    with opened(empty), pytest.raises(BusyError), opened(empty, "resume"):
        pass


def test_damage_is_told(empty: Path) -> None:
    with opened(empty):
        pass
    (empty / "under_way.json").write_text('[{"numbers": 1}]')
    with pytest.raises(IntegrityError, match="is not a list of trials"), opened(empty, "resume"):
        pass
    (empty / "sweep.json").write_text("[]")
    with pytest.raises(IntegrityError, match="is not the record of a sweep"), opened(empty, "resume"):
        pass


def test_only_the_best_trials_keep_their_files(empty: Path) -> None:
    with opened(empty, keep=2) as ledger:
        for number, height in enumerate((0.3, 0.1, 0.2)):
            ledger.enter(number, {"x": float(number)}, "")
            ledger.trial_folder(number).mkdir(parents=True)
            end(ledger, number, height)
        ledger.enter(3, {"x": 3.0}, "")
        ledger.trial_folder(3).mkdir()
        ledger.prune()
        kept = sorted(path.name for path in (empty / "trials").iterdir())
    assert kept == ["0000", "0002", "0003"]  # the last is under way

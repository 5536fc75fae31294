"""The files that a sweep goes on from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.errors import BusyError, InputError, IntegrityError, NotFoundError
from cocite_tuning.run.trial_store import TrialStore
from cocite_tuning.sweep.sweep import Sweep
from cocite_tuning.sweep.trials import Trials

SWEEP = {
    "name": "toy",
    "study": {"kind": "toy"},
    "space": {"x": {"uniform": [-3, 3]}},
    "metric": {"name": "height"},
    "keep": 1,
}


def opened(folder: Path, start: str = "new", corpus: str = "c1", **changed: object):  # type: ignore[no-untyped-def]
    return TrialStore.opened(folder, Sweep.parse(SWEEP | changed), corpus, start=start)  # type: ignore[arg-type]


def finish(store: TrialStore, number: int, height: float) -> None:
    store.start(number, f"run {number}")
    store.add_metrics(number, {"height": height / 2}, 1)
    store.add_metrics(number, {"loss": 1.0}, 1)
    store.add_metrics(number, {"height": height}, 2)
    store.finish(number, "finished", {"height": height})
    store.flush()


def test_a_killed_driver_leaves_what_ended_and_what_was_under_way(empty: Path) -> None:
    with opened(empty) as store:
        store.set_run_id("parent")
        for number in range(3):
            store.add(number, {"x": float(number)}, "")
        finish(store, 1, 0.5)
        store.start(2, "run 2")
        store.add_metrics(2, {"height": 0.1}, 1)
        store.flush()
        files = {path.name: path.read_bytes() for path in empty.glob("*.json")}
    for name, data in files.items():  # as they were when it was killed, not as it would have left them
        (empty / name).write_bytes(data)
    with opened(empty, "resume", budget={"trials": 99}) as store:
        assert store.run_id == "parent"
        assert list(store.ended) == [1]
        trial = store.ended[1]
        assert trial.curve == ((1, {"height": 0.25, "loss": 1.0}), (2, {"height": 0.5}))
        assert trial.run_id == "run 1"
        assert {number: trial.run_id for number, trial in store.running.items()} == {0: "", 2: "run 2"}
        assert store.running[2].params == {"x": 2.0}
        assert store.running[2].curve == [(1, {"height": 0.1})]
        assert store.next_number == 3


def test_a_trial_that_ended_is_not_resumed_whenever_the_driver_died(empty: Path) -> None:
    with opened(empty) as store:
        store.add(0, {"x": 0.0}, "")
        before = (empty / "under_way.json").read_bytes()
        finish(store, 0, 1.0)
    (empty / "under_way.json").write_bytes(before)  # it died between the two files
    with opened(empty, "resume") as store:
        assert list(store.ended) == [0]
        assert not store.running


def test_seconds_add_up_over_deaths(empty: Path) -> None:
    with opened(empty) as store:
        store.add(0, {"x": 0.0}, "")
        store.start(0, "")
    record = json.loads((empty / "under_way.json").read_text())
    record[0]["seconds"] = 100.0
    (empty / "under_way.json").write_text(json.dumps(record))
    with opened(empty, "resume") as store:
        finish(store, 0, 1.0)
        assert 100 <= store.ended[0].seconds < 200


def test_a_sweep_is_resumed_only_when_asked_and_only_where_it_is_the_same(empty: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no sweep to go on with"), opened(empty, "resume"):
        pass
    with opened(empty) as store:
        trial = store.add(0, {"x": 0.0}, "")
        assert trial.number == 0
        finish(store, 0, 1.0)
        (store.trial_folder(0)).mkdir(parents=True)
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
    with opened(empty, "resume", budget={"trials": 3}, retries=9) as store:
        assert list(store.ended) == [0]
    with opened(empty, "fresh", **other) as store:
        assert not store.ended
    assert not Trials.read(empty / "trials.json").trials
    assert (empty / "notes.txt").read_text() == "mine"
    assert not (empty / "trials").exists()


def test_one_process_at_a_time(empty: Path) -> None:
    with opened(empty), pytest.raises(BusyError, match="is at work here"), opened(empty, "resume"):
        pass


def test_damaged_files_are_refused(empty: Path) -> None:
    with opened(empty):
        pass
    (empty / "under_way.json").write_text('[{"numbers": 1}]')
    with pytest.raises(IntegrityError, match="is not a list of trials"), opened(empty, "resume"):
        pass
    (empty / "sweep.json").write_text("[]")
    with pytest.raises(IntegrityError, match="is not the record of a sweep"), opened(empty, "resume"):
        pass


def test_only_the_best_trials_keep_their_files(empty: Path) -> None:
    with opened(empty, keep=2) as store:
        for number, height in enumerate((0.3, 0.1, 0.2)):
            store.add(number, {"x": float(number)}, "")
            store.trial_folder(number).mkdir(parents=True)
            finish(store, number, height)
        store.add(3, {"x": 3.0}, "")
        store.trial_folder(3).mkdir()
        store.prune()
        kept = sorted(path.name for path in (empty / "trials").iterdir())
    assert kept == ["0000", "0002", "0003"]  # the last is still running


def test_a_folder_that_no_sweep_made_is_left_alone(empty: Path) -> None:
    empty.mkdir()
    (empty / "trials.json").write_text("mine")
    for start in ("new", "fresh"):
        with (
            pytest.raises(InputError, match=r"holds 'trials\.json' but no sweep\.json, so no sweep made it"),
            opened(empty, start),
        ):
            pass
    assert (empty / "trials.json").read_text() == "mine"


def test_files_are_written_at_most_once_in_an_interval(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("cocite_tuning.run.trial_store.time.monotonic", lambda: clock[0])
    with TrialStore.opened(empty, Sweep.parse(SWEEP), "c1", start="new", flush_interval=5.0) as store:
        store.write()
        store.add(0, {"x": 0.0}, "")
        assert json.loads((empty / "under_way.json").read_text()) == []
        clock[0] += 5.5
        store.flush()
        assert [entry["number"] for entry in json.loads((empty / "under_way.json").read_text())] == [0]
        store.add(1, {"x": 1.0}, "")
        assert len(json.loads((empty / "under_way.json").read_text())) == 1
    assert len(json.loads((empty / "under_way.json").read_text())) == 2  # the end of the block writes


def test_repeated_steps_are_ignored_and_one_step_may_come_in_parts(empty: Path) -> None:
    with opened(empty) as store:
        store.add(0, {"x": 0.0}, "")
        for step, metrics in ((1, {"a": 1.0}), (1, {"b": 2.0}), (3, {"a": 3.0}), (2, {"a": 9.0})):
            store.add_metrics(0, metrics, step)
        assert store.running[0].curve == [(1, {"a": 1.0, "b": 2.0}), (3, {"a": 3.0})]


OLD_SWEEP = {
    "corpus": "c1",
    "run_id": "parent",
    "sweep": {
        "metric": {"mode": "max", "name": "height"},
        "name": "toy",
        "protocol": None,
        "scheduler": {"grace": 1, "kind": "none", "longest": 100, "reduction": 3.0},
        "search": "tpe",
        "seed": 0,
        "space": {"x": {"uniform": [-3, 3]}},
        "start": [{}],
        "study": {"kind": "toy", "light": True, "seconds": 0.0, "steps": 4},
    },
}
"""``sweep.json`` as cocite 0.1.0 wrote it."""


def test_the_files_have_the_keys_that_earlier_versions_wrote(empty: Path) -> None:
    with opened(empty) as store:
        store.set_run_id("parent")
        store.add(0, {"x": 0.5}, "")
        store.start(0, "run 0")
        store.add_metrics(0, {"height": 0.25}, 1)
    assert json.loads((empty / "sweep.json").read_text()) == OLD_SWEEP
    (entry,) = json.loads((empty / "under_way.json").read_text())
    assert entry.pop("seconds") >= 0
    assert entry == {
        "number": 0,
        "params": {"x": 0.5},
        "phase": "",
        "run_id": "run 0",
        "curve": [[1, {"height": 0.25}]],
    }

"""Events on their way from the loop to a report."""

from __future__ import annotations

from typing import Any

from cocite.training.engine.settings import TrainingSettings
from cocite_jobs.training import progress as telling
from cocite_jobs.training.progress import Event, ProgressFunctions, ProgressReceiver, ProgressSender


def listened() -> tuple[ProgressReceiver, list[tuple[Any, ...]]]:
    told: list[tuple[Any, ...]] = []
    report = ProgressFunctions(
        log=lambda metrics, step: told.append(("log", metrics, step)),
        stage=lambda name, total: told.append(("stage", name, total)),
        advance=lambda count: told.append(("advance", count)),
    )
    return ProgressReceiver(report, "kind"), told


def test_what_a_replaced_worker_goes_over_again_is_told_once() -> None:
    listener, told = listened()
    events: list[Event] = [
        ("log", {"loss": 3.0}, 1), ("log", {"loss": 2.0}, 2), ("log", {"fit": 0.1}, 2), ("at", 4, 2),
        ("log", {"loss": 2.0}, 2), ("log", {"loss": 1.0}, 3), ("at", 4, 1), ("at", 4, 4),
    ]  # fmt: skip
    for event in events:
        listener.receive(event)
    assert [entry for entry in told if entry[0] == "log"] == [
        ("log", {"loss": 3.0}, 1),
        ("log", {"loss": 2.0}, 2),
        ("log", {"fit": 0.1}, 2),
        ("log", {"loss": 1.0}, 3),
    ]
    assert [entry for entry in told if entry[0] != "log"] == [
        ("stage", "kind", 4),
        ("advance", 2),
        ("advance", 2),
    ]


def test_the_length_of_a_training_follows_from_its_first_log() -> None:
    events: list[Event] = []
    teller = ProgressSender(events.append, TrainingSettings(epochs=3))
    teller.resume(10, [({"loss": 2.0}, 9)])
    for step in range(11, 13):
        teller.log({"loss": 1.0, "epoch": step / 8}, step)
    teller.advance(2)
    assert events[0] == ("stage", "going on from step 10", 0)
    assert events[1] == ("log", {"loss": 2.0}, 9)
    assert [step for _, step in teller.entries] == [9, 11, 12]
    assert events[-1] == ("at", 24, 12)


def test_positions_are_told_seldom_and_the_last_always(monkeypatch: Any) -> None:
    monkeypatch.setattr(telling, "POSITION_INTERVAL_S", 1e9)
    events: list[Event] = []
    teller = ProgressSender(events.append, TrainingSettings(steps=50))
    for _ in range(50):
        teller.advance(1)
    assert [step for _, _, step in events][-1] == 50
    assert len(events) <= 2


def test_a_stage_is_handed_on() -> None:
    listener, told = listened()
    ProgressSender(listener.receive, TrainingSettings()).stage("preparing")
    assert told == [("stage", "preparing", 0)]

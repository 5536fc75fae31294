"""Events from the training loop to a callback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.progress_bars import Advance
from cocite.training.engine.settings import TrainingSettings
from cocite_jobs.training import progress as progress_module
from cocite_jobs.training.progress import (
    Event,
    ProgressFunctions,
    ProgressReceiver,
    ProgressSender,
    StageSender,
    ignore_progress,
    progress_on_bars,
)


def receiver_and_calls() -> tuple[ProgressReceiver, list[tuple[Any, ...]]]:
    calls: list[tuple[Any, ...]] = []
    progress = ProgressFunctions(
        log=lambda metrics, step: calls.append(("log", metrics, step)),
        stage=lambda name, total: calls.append(("stage", name, total)),
        advance=lambda count: calls.append(("advance", count)),
    )
    return ProgressReceiver(progress, "kind"), calls


def test_steps_that_a_replaced_worker_repeats_are_passed_on_once() -> None:
    receiver, calls = receiver_and_calls()
    events: list[Event] = [
        ("log", {"loss": 3.0}, 1), ("log", {"loss": 2.0}, 2), ("log", {"fit": 0.1}, 2), ("at", 4, 2),
        ("log", {"loss": 2.0}, 2), ("log", {"loss": 1.0}, 3), ("at", 4, 1), ("at", 4, 4),
    ]  # fmt: skip
    for event in events:
        receiver.receive(event)
    assert [entry for entry in calls if entry[0] == "log"] == [
        ("log", {"loss": 3.0}, 1),
        ("log", {"loss": 2.0}, 2),
        ("log", {"fit": 0.1}, 2),
        ("log", {"loss": 1.0}, 3),
    ]
    assert [entry for entry in calls if entry[0] != "log"] == [
        ("stage", "kind", 4),
        ("advance", 2),
        ("advance", 2),
    ]


def test_steps_are_counted_under_their_name_before_their_number_is_known() -> None:
    receiver, calls = receiver_and_calls()
    for event in (("stage", "preparing", 0), ("at", 0, 1), ("at", 0, 3), ("at", 40, 4)):
        receiver.receive(event)
    assert calls == [
        ("stage", "preparing", 0),
        ("stage", "kind", 0), ("advance", 1), ("advance", 2),
        ("stage", "kind", 40), ("advance", 4),
    ]  # fmt: skip


def test_the_length_of_a_training_follows_from_its_first_log() -> None:
    events: list[Event] = []
    sender = ProgressSender(events.append, TrainingSettings(epochs=3))
    sender.resume(10, [({"loss": 2.0}, 9)])
    for step in range(11, 13):
        sender.log({"loss": 1.0, "epoch": step / 8}, step)
    sender.advance(2)
    assert events[0] == ("stage", "going on from step 10", 0)
    assert events[1] == ("log", {"loss": 2.0}, 9)
    assert [step for _, step in sender.entries] == [9, 11, 12]
    assert events[-1] == ("at", 24, 12)


def test_positions_are_sent_seldom_and_the_last_always(monkeypatch: Any) -> None:
    monkeypatch.setattr(progress_module, "POSITION_INTERVAL_S", 1e9)
    events: list[Event] = []
    sender = ProgressSender(events.append, TrainingSettings(steps=50))
    for _ in range(50):
        sender.advance(1)
    assert [step for _, _, step in events][-1] == 50
    assert len(events) <= 2


def test_a_stage_is_passed_on() -> None:
    receiver, calls = receiver_and_calls()
    ProgressSender(receiver.receive, TrainingSettings()).stage("preparing")
    assert calls == [("stage", "preparing", 0)]


def test_mining_is_a_stage_with_counts_after_which_the_steps_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "POSITION_INTERVAL_S", 0)
    receiver, calls = receiver_and_calls()
    sender = ProgressSender(receiver.receive, TrainingSettings(steps=20))
    for _ in range(2):
        sender.stage("mining: papers", 300)
        sender.count(200)
        sender.count(100)
        sender.advance(4)
        sender.advance(1)
    mining = [("stage", "mining: papers", 300), ("advance", 200), ("advance", 100)]
    steps = [("stage", "kind", 20), ("advance", 4), ("advance", 1)]
    assert calls == [*mining, *steps, *mining, ("stage", "kind", 20), ("advance", 9), ("advance", 1)]


def test_functions_that_are_left_out_do_nothing() -> None:
    metrics: list[int] = []
    progress = ProgressFunctions(log=lambda _, step: metrics.append(step))
    progress.stage("training", 3)
    progress.advance(3)
    progress.log({"loss": 1.0}, 3)
    assert metrics == [3]
    assert ignore_progress(1, "two") is None  # type: ignore[func-returns-value]


@given(
    st.lists(st.lists(st.sampled_from(["log", "advance"]), min_size=1, max_size=30), min_size=1, max_size=4)
)
def test_every_step_is_counted_and_logged_once_however_often_workers_resume(lives: list[list[str]]) -> None:
    """Each list is the life of a worker, which begins again at the first step."""
    receiver, calls = receiver_and_calls()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress_module, "POSITION_INTERVAL_S", 0)
        for life in lives:
            sender = ProgressSender(receiver.receive, TrainingSettings(steps=30))
            for step, call in enumerate(life, 1):
                sender.advance(1)
                if call == "log":
                    sender.log({"loss": float(step)}, step)
    logged = [call[2] for call in calls if call[0] == "log"]
    assert logged == sorted(set(logged))
    assert sum(call[1] for call in calls if call[0] == "advance") == max(map(len, lives))


def test_stages_of_another_process_arrive_with_all_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver, calls = receiver_and_calls()
    sent: list[Event] = []
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    sender = StageSender(lambda event: (sent.append(event), receiver.receive(event)))
    sender.stage("words: vocabulary", 1000)
    for _ in range(100):
        now[0] += 0.01
        sender.advance(10)
    sender.stage("words: papers", 0)
    sender.log({"words": 3.0}, 1)
    sender.advance(5)
    sender.flush()
    sender.flush()
    assert [entry for entry in calls if entry[0] != "advance"] == [
        ("stage", "words: vocabulary", 1000),
        ("stage", "words: papers", 0),
        ("log", {"words": 3.0}, 1),
    ]
    assert sum(entry[1] for entry in calls if entry[0] == "advance") == 1005
    assert len(sent) <= 8  # not an event for each count


def test_the_stages_of_a_training_are_bars_under_its_name() -> None:
    said: list[object] = []

    @contextmanager
    def bars(description: str, total: int | None) -> Iterator[Advance]:
        said.append((description, total))
        yield said.append

    with progress_on_bars(bars, "training nnselect") as progress:
        progress.stage("words: papers", 300)
        progress.advance(200)
        progress.log({"loss": 1.0}, 1)  # bars do not show it
    assert said == [("training nnselect: words: papers", 300), 200]

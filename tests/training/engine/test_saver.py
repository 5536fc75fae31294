"""Work is done in a thread, one after the other; its error is raised at the next look."""

from __future__ import annotations

import threading
import time

import pytest

from cocite.training.engine.saver import Saver
from cocite.training.engine.world import World


def test_work_goes_on_in_another_thread_while_this_one_does() -> None:
    saver, go, done = Saver(World().apart()), threading.Event(), []
    saver.start(lambda: done.append((go.wait(20), threading.current_thread().name)))
    assert not done
    go.set()
    saver.finish()
    assert done == [(True, "checkpoint")]


def test_one_piece_of_work_waits_for_the_other() -> None:
    saver, done = Saver(World().apart()), []
    for number in range(5):
        saver.start(lambda number=number: done.append(number))
    saver.finish()
    assert done == [0, 1, 2, 3, 4]


def test_an_error_is_raised_once_and_before_the_next_work() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    saver, done = Saver(World().apart()), []
    saver.start(fail)
    with pytest.raises(OSError, match="the disk is full"):
        saver.start(lambda: done.append("never"))
    saver.finish()
    saver.start(fail)
    saver.leave()
    assert done == []


def test_in_the_training_s_own_world_work_is_done_at_once() -> None:
    saver, done = Saver(World()), []
    saver.start(lambda: done.append(threading.current_thread() is threading.main_thread()))
    assert done == [True]


def test_leaving_waits_for_work_whose_thread_was_started_as_ctrl_c_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin, done = threading.Thread.start, []

    def interrupted(thread: threading.Thread) -> None:
        begin(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    saver = Saver(World().apart())
    with pytest.raises(KeyboardInterrupt, match="^$"):
        saver.start(lambda: (time.sleep(0.1), done.append("saved")))
    saver.leave()
    assert done == ["saved"]

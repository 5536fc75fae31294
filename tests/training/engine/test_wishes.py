"""Wishes are granted once; SIGTERM is one, and a second SIGTERM is what it was before."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from cocite.training.engine.wishes import Wishes, stopped


def test_a_checkpoint_is_wanted_once_and_the_end_for_good() -> None:
    wishes = Wishes()
    assert not wishes.take_save()
    wishes.save()
    assert (wishes.take_save(), wishes.take_save()) == (True, False)
    wishes.stop()
    assert (wishes.stopping, wishes.stopping) == (True, True)


def test_sigterm_is_the_wish_to_stop_and_the_second_has_its_old_meaning() -> None:
    class SecondError(Exception):
        pass

    def old(_number: int, _frame: object) -> None:
        raise SecondError

    before = signal.signal(signal.SIGTERM, old)
    wishes = Wishes()
    try:
        with pytest.raises(SecondError, match=r"^$"), wishes.on_sigterm():
            os.kill(os.getpid(), signal.SIGTERM)
            assert wishes.stopping
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is old
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_thread_leaves_the_handlers_alone() -> None:
    before, seen = signal.getsignal(signal.SIGTERM), []

    def look() -> None:
        with Wishes().on_sigterm():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]


def test_who_ends_says_what_is_kept() -> None:
    assert "stopped while mining after step 0; nothing was kept" in str(
        stopped("while mining after step", 0, kept=False)
    )
    assert "stopped after step 3; its checkpoint is kept (pass --resume" in str(
        stopped("after step", 3, kept=True)
    )
    assert "stopped while mining after step 0; what was mined is kept" in str(
        stopped("while mining after step", 0, kept=False, blocks=True)
    )
    assert "stopped while mining after step 3; its checkpoint and what was mined are kept" in str(
        stopped("while mining after step", 3, kept=True, blocks=True)
    )

"""Arrays that a thread keeps: one for each name and thread, as long as asked for."""

from __future__ import annotations

import threading

import numpy as np

from cocite.retrieval.engines.scratch import Scratch


def test_an_array_is_kept_and_grows() -> None:
    scratch = Scratch()
    first = scratch.take("slots", 3, np.int32, -1)
    assert first.tolist() == [-1, -1, -1]
    assert scratch.take("slots", 2, np.int32, -1).base is first
    assert len(scratch.take("slots", 5, np.int32, -1)) == 5
    assert len(scratch.take("slots", 3, np.int32, -1)) == 3


def test_each_thread_has_its_own() -> None:
    scratch, others = Scratch(), []
    mine = scratch.take("scores", 3, np.float32, 0)
    thread = threading.Thread(target=lambda: others.append(scratch.take("scores", 3, np.float32, 0)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, others[0])


def test_a_dropped_array_is_made_anew() -> None:
    scratch = Scratch()
    scratch.take("scores", 2, np.float32, 0)[:] = 7
    scratch.drop("scores")
    scratch.drop("scores")
    assert scratch.take("scores", 2, np.float32, 0).tolist() == [0, 0]

from __future__ import annotations

import time

from cocite_serve.http.deadline import Deadline


def test_the_seconds_that_are_left_grow_fewer_and_negative() -> None:
    deadline = Deadline.after(0.02, partial=True)
    assert 0 < deadline.left() <= 0.02
    time.sleep(0.03)
    assert deadline.left() < 0
    assert deadline.partial

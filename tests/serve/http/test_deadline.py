from __future__ import annotations

from cocite_serve.http.deadline import Deadline


def test_the_seconds_that_are_left_grow_fewer_and_negative() -> None:
    deadline = Deadline.after(60, partial=True)
    first = deadline.left()
    assert 0 < deadline.left() <= first <= 60
    assert Deadline.after(-1, partial=True).left() < 0
    assert deadline.partial

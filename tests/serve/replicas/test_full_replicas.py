from __future__ import annotations

import pytest

from cocite_serve.http.problems import OverloadedError
from cocite_serve.replicas.full_replicas import LONGEST_S, FullReplicas
from cocite_serve.replicas.refusals import FullError


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_all_are_full_until_the_first_has_room() -> None:
    clock = Clock()
    full = FullReplicas(2, clock)
    assert full.refused("a", 30, 0.5) == 0.0
    assert full.refused("a", 30, 0.5) == 0.0, "the other may have room"
    clock.now = 0.2
    assert full.refused("b", 30, 0.9) == pytest.approx(0.3)
    clock.now = 0.6
    assert full.refused("b", 30, 0.9) == 0.0, "what the first said is over"


def test_what_each_replica_would_refuse_is_refused_without_asking_them() -> None:
    clock = Clock()
    full = FullReplicas(2, clock)
    full.tell = True
    full.refused("a", 30, 4.0)
    full.require_room(30)  # the other may have room
    full.refused("b", 30, 3.0)
    full.require_room(5)
    clock.now = 0.25
    with pytest.raises(OverloadedError, match="every replica is full") as caught:
        full.require_room(30)
    assert (caught.value.retry_s, caught.value.full_s) == (2.75, 0.75)
    clock.now = 1.0
    full.require_room(30)


def test_sizes_are_full_each_by_itself() -> None:
    full = FullReplicas(2, Clock())
    assert full.refused("a", 30, 0.5) == 0.0
    assert full.refused("b", 200, 0.5) == 0.0
    assert full.refused("b", 30, 0.5) == 0.5


def test_no_refusal_holds_for_long() -> None:
    assert FullReplicas(1, Clock()).refused("a", 30, 100.0) == LONGEST_S


@pytest.mark.parametrize(("tell", "seconds"), [(True, 0.5), (False, 0.0)])
def test_a_refusal_says_for_how_long_all_refuse_where_no_other_release_answers(
    tell: bool, seconds: float
) -> None:
    full = FullReplicas(1, Clock())
    full.tell = tell
    with pytest.raises(OverloadedError, match="it would wait") as caught, full.noting(30):
        raise FullError("it would wait 3.0 s for others", 0.5, "a")
    assert type(caught.value) is OverloadedError
    assert (caught.value.retry_s, caught.value.full_s) == (0.5, seconds)


def test_another_refusal_stays_as_it_is() -> None:
    error = OverloadedError("its deadline", 2.0)
    with pytest.raises(OverloadedError, match="its deadline") as caught, FullReplicas(1).noting(30):
        raise error
    assert caught.value is error

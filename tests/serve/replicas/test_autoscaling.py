"""The number of replicas that the work in the queues asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.replicas.autoscaling import QUEUED_S, ByQueuedWork


def context(seconds: list[float], replicas: int = 1) -> Any:
    reported = {QUEUED_S: dict(enumerate(seconds))} if seconds else None
    return SimpleNamespace(current_num_replicas=replicas, aggregated_metrics=reported)


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=8), st.floats(0.1, 100))
def test_the_replicas_have_the_queued_work_done_in_time_and_one_less_had_not(
    seconds: list[float], target: float
) -> None:
    replicas, _ = ByQueuedWork(target)(context(seconds))
    assert sum(seconds) <= replicas * target * (1 + 1e-9)
    assert replicas == 1 or sum(seconds) > (replicas - 1) * target


@pytest.mark.parametrize("replicas", [1, 3])
def test_nothing_changes_before_a_replica_has_reported(replicas: int) -> None:
    assert ByQueuedWork(1.0)(context([], replicas)) == (replicas, {})

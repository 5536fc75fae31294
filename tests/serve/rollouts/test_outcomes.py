"""Metrics of rollouts; a real endpoint's are read in tests/integration/endpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from cocite_serve.metric_types import keep_in
from cocite_serve.one_process.metrics import LocalMetrics
from cocite_serve.rollouts.outcomes import Outcomes


@pytest.fixture
def registry() -> Iterator[CollectorRegistry]:
    metrics = LocalMetrics()
    keep_in(metrics)
    yield metrics.registry
    keep_in(None)


def test_each_outcome_is_counted_by_its_name(registry: CollectorRegistry) -> None:
    outcomes = Outcomes()
    counted = ("served", "refused", "refused", "rolled_back")
    for outcome in counted:
        outcomes.count(outcome)
    name, _ = outcomes.names()
    for outcome in counted:
        assert registry.get_sample_value(name, {"outcome": outcome}) == counted.count(outcome)


def test_what_is_refused_now_falls_to_none_again(registry: CollectorRegistry) -> None:
    outcomes = Outcomes()
    _, name = outcomes.names()
    for refused in (2, 0):
        outcomes.tell(refused)
        assert registry.get_sample_value(name) == refused

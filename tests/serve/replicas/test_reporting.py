"""Log lines of the library in a replica; that Ray Serve writes them is seen in tests/integration/endpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from cocite_serve.replicas import reporting
from cocite_serve.replicas.reporting import LIBRARY, SERVE, Replica, ToServe, begin_reporting
from cocite_serve.tracing.origins import Origin, working_for


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def kept() -> Iterator[Kept]:
    """What Ray Serve's logger gets from the library's."""
    handler, forward = Kept(), ToServe()
    logging.getLogger(SERVE).addHandler(handler)
    logging.getLogger(LIBRARY).addHandler(forward)
    yield handler
    logging.getLogger(SERVE).removeHandler(handler)
    logging.getLogger(LIBRARY).removeHandler(forward)


def test_a_line_names_all_requests_that_the_thread_works_for(kept: Kept) -> None:
    with working_for((Origin("5f0c"), Origin("77aa"))):
        logging.getLogger("cocite").warning("shard %d did not answer", 2)
    logging.getLogger("cocite.corpus").warning("a line of its own")
    first, second = kept.records
    assert (first.getMessage(), first.levelname) == ("shard 2 did not answer", "WARNING")
    assert vars(first)["request_id"] == "5f0c 77aa"
    assert "request_id" not in vars(second), "Ray Serve may know one"


def test_outside_of_a_replica_nothing_is_begun_and_nothing_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, calls = list(logging.getLogger(LIBRARY).handlers), []
    monkeypatch.setattr(reporting, "start", calls.append)
    monkeypatch.setattr(reporting, "flush", lambda: calls.append("flush"))
    begin_reporting("retriever")
    Replica().__del__()
    assert logging.getLogger(LIBRARY).handlers == before
    assert calls == []


def test_a_replica_has_spans_and_sends_the_last_ones_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = list(logging.getLogger(LIBRARY).handlers), []
    monkeypatch.setattr(reporting, "replica_name", lambda: "x5f0c1ab")
    monkeypatch.setattr(reporting, "_begun", False)
    monkeypatch.setattr(reporting, "start", calls.append)
    monkeypatch.setattr(reporting, "flush", lambda: calls.append("flush"))
    try:
        for _ in range(2):
            begin_reporting("shard")
        added = [each for each in logging.getLogger(LIBRARY).handlers if each not in before]
        assert [type(each) for each in added] == [ToServe]
        Replica().__del__()
    finally:
        logging.getLogger(LIBRARY).handlers[:] = before
    assert set(calls[:2]) == {"cocite-shard"}
    assert set(calls[2:]) == {"flush"}

"""Room and time of a request."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.api_backend import InProcess

from cocite.errors import InputError
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.metrics import GatewayMetrics
from cocite_serve.http.problems import OverloadedError, TooSlowError
from cocite_serve.http.service import Service
from cocite_serve.settings import ServeSettings


def service(backend: InProcess, **changes: Any) -> Service:
    return Service(lambda: backend, ServeSettings(index=Path("unused"), **changes), GatewayMetrics())


def test_there_is_room_for_so_many_requests(backend: InProcess) -> None:
    served = service(backend, gateway={"max_requests": 2})
    with (
        served.room(),
        served.room(),
        pytest.raises(OverloadedError, match="2 requests are in the gateway"),
        served.room(),
    ):
        pass
    with served.room(), served.room():
        pass


@pytest.mark.parametrize(("deadline_ms", "seconds"), [(None, 9), (3_000, 3), (60_000, 9)])
def test_a_call_has_the_time_of_its_request_or_of_the_server(
    backend: InProcess, deadline_ms: int | None, seconds: int
) -> None:
    async def at(deadline: Deadline) -> float:
        return deadline.at

    before = time.monotonic()
    found = asyncio.run(service(backend, request_timeout_s=9).within(deadline_ms, at))
    assert before <= found - seconds <= time.monotonic()


def test_a_call_that_takes_longer_is_ended(backend: InProcess) -> None:
    with pytest.raises(TooSlowError, match=r"took longer than 0\.01 s"):
        asyncio.run(service(backend, request_timeout_s=0.01).within(None, lambda _: asyncio.sleep(60)))


def test_a_list_may_be_so_long(backend: InProcess) -> None:
    service(backend).check_count(3, "ids", 3)
    with pytest.raises(InputError, match="ids: at most 3 are allowed, got 4"):
        service(backend).check_count(4, "ids", 3)

"""The replica that counts clicks: its counts, and what it tells Prometheus."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import RayActorError, RayTaskError

from cocite.errors import NotFoundError
from cocite_serve.comparison.ledger import Pair
from cocite_serve.http.metrics import exported_names
from cocite_serve.http.problems import NotReadyError
from cocite_serve.replicas.clicks import ClickCounter, RemoteClicks

PAIR = Pair("5f0c", "000001", "7a1d", "000001")


class Gauge:
    """The last values that were set."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def set(self, value: float, tags: dict[str, str] | None = None) -> None:
        self.values["".join((tags or {"": ""}).values())] = value


def test_clicks_are_counted_and_told() -> None:
    async def run() -> ClickCounter:
        counter = ClickCounter()
        counter._outcomes, counter._p = Gauge(), Gauge()  # type: ignore[assignment]
        for number in range(6):
            await counter.register(f"t{number}", PAIR, {"a": "served", "b": "beside"})
            assert await counter.credit(f"t{number}", "b") == "beside"
        assert await counter.credit("t0", "a") == "served"
        counter.tell()
        assert counter._telling is not None
        counter._telling.cancel()
        return counter

    counter = asyncio.run(run())
    gauges: Any = counter._outcomes, counter._p
    assert gauges[0].values == {"served": 0, "beside": 5, "tie": 1}
    assert gauges[1].values[""] == pytest.approx(2 / 2**5)


def test_the_exported_names() -> None:
    assert exported_names(ClickCounter()) == [
        "ray_cocite_interleaved_answers_total",
        "ray_cocite_clicks_total",
        "ray_cocite_comparison_answers",
        "ray_cocite_comparison_p_value",
    ]


def remote(error: Exception | None = None) -> RemoteClicks:
    """A counter behind a handle, whose calls may fail."""
    counter = ClickCounter()

    def call(method: str) -> Any:
        async def run(*args: Any) -> Any:
            if error is not None:
                raise error
            return await getattr(counter, method)(*args)

        return SimpleNamespace(remote=run)

    return RemoteClicks(
        SimpleNamespace(**{name: call(name) for name in ("register", "credit", "comparisons")})
    )


def test_a_gateway_calls_it_by_its_handle() -> None:
    async def run() -> None:
        clicks = remote()
        await clicks.register("t", PAIR, {"a": "served"})
        assert await clicks.credit("t", "a") == "served"
        [comparison] = await clicks.comparisons()
        assert comparison.wins == {"served": 1, "beside": 0}

    asyncio.run(run())


def test_its_errors_are_the_apis() -> None:
    with pytest.raises(NotReadyError, match="a stage's process ended"):
        asyncio.run(remote(RayActorError()).credit("t", "a"))
    unknown = RayTaskError("credit", "", NotFoundError("no such token"))
    with pytest.raises(NotFoundError, match="no such token"):
        asyncio.run(remote(unknown).credit("t", "a"))

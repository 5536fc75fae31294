"""Calls of a replica that is removed, without Ray Serve; with it: tests/integration/endpoint/test_deaths.py."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayActorError
from ray.serve.config import RequestRouterConfig

from cocite_serve.replicas import asking_again
from cocite_serve.replicas.asking_again import PATH, ReplicaRemovedError, Watched
from cocite_serve.replicas.health import UnhealthyError


class Call:
    """A call that is answered when the test lets it."""

    def __init__(self) -> None:
        self.came, self.ended = asyncio.Event(), False

    async def get_rejection_response(self) -> str:
        try:
            await self.came.wait()
        except asyncio.CancelledError:
            self.ended = True
            raise
        return "accepted"


class Replica(Watched):
    """A replica that has one call; its process may be stopped, or its computing thread be stuck."""

    def __init__(self, state: str) -> None:
        self._gone = asyncio.Event()
        self._replica_info = SimpleNamespace(is_cross_language=False)
        self._actor_handle = SimpleNamespace(check_health=SimpleNamespace(remote=self._check))
        self.state, self.call = state, Call()

    def _get_replica_wrapper(self, pr: Any) -> Any:
        return SimpleNamespace(send_request_python=lambda pr, with_rejection: self.call)

    async def _check(self) -> None:
        if self.state == "stopped":
            await asyncio.sleep(3600)
        if self.state == "stuck":
            raise UnhealthyError("a step has taken 31 s so far, and stuck_s is 30")

    def ask(self) -> asyncio.Task[str]:
        return asyncio.create_task(self.try_send_request(None, with_rejection=True).get_rejection_response())


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking_again, "TIMEOUT_S", 0.05)


@pytest.mark.parametrize("state", ["stopped", "stuck"])
def test_what_a_replica_has_taken_in_ends_with_an_error_when_it_works_no_more(state: str) -> None:
    async def run() -> bool:
        replica = Replica(state)
        asked = replica.ask()
        await asyncio.sleep(0)
        await replica.leave()
        with pytest.raises(ReplicaRemovedError, match="the replica was removed"):
            await asked
        await asyncio.sleep(0)
        return replica.call.ended

    assert asyncio.run(run())


def test_the_error_reaches_the_gateway_which_makes_another_call_with_the_seconds_that_are_left() -> None:
    assert issubclass(ReplicaRemovedError, RayActorError)
    # By these two Ray Serve's router makes the same call anew.
    assert not issubclass(ReplicaRemovedError, ActorDiedError | ActorUnavailableError)


def test_one_that_ends_in_order_answers_what_it_has_taken_in() -> None:
    async def run() -> str:
        replica = Replica("working")
        asked = replica.ask()
        await replica.leave()
        assert not asked.done()
        replica.call.came.set()
        return await asked

    assert asyncio.run(run()) == "accepted"


def test_a_caller_that_leaves_ends_the_call() -> None:
    async def run() -> bool:
        replica = Replica("working")
        asked = replica.ask()
        await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await asked
        await asyncio.sleep(0)
        return replica.call.ended

    assert asyncio.run(run())


def test_a_call_that_is_never_refused_is_left_as_it_is() -> None:
    async def run() -> None:
        replica = Replica("stopped")
        result = replica.try_send_request(None, with_rejection=False)
        assert result.get_rejection_response.__self__ is replica.call

    asyncio.run(run())


def test_ray_serve_takes_the_router_by_its_path() -> None:
    found: Any = RequestRouterConfig(request_router_class=PATH).get_request_router_class()
    assert found.__name__ == "AskingAgain"
    assert found.update_replicas is not found.__mro__[1].update_replicas

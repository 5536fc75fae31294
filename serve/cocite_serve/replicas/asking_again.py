"""A call that a replica has taken in is made again once Ray Serve has removed the replica, and it does not answer.

A process that is stopped, or hangs, keeps its connections, so what it has taken in would wait until its time is over,
though Ray Serve replaces it within ten seconds; so would what waits for a computing thread that is stuck. A replica
that is removed in order answers what it has taken in: its health check says so. Stages only read, so a call may be made
twice.

A call ends with an error of a replica that died, and :func:`~cocite_serve.replicas.stage_calls.result_of` makes another
one, which has the seconds that are left. Ray Serve's router would make the same one anew, with the seconds of before.

Source: ``RequestRouter`` and ``RunningReplica`` are Ray Serve's API for routers (alpha, 2.60). Its
``AsyncioRouter._route_and_send_request_once`` makes a call again whose ``get_rejection_response`` raises
``ActorUnavailableError`` or ``ActorDiedError``, and raises what else that raises; that of a call by gRPC returns when
the call is answered. ``ReplicaActor.check_health`` is what its controller asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ray.exceptions import RayActorError
from ray.serve._private.request_router import PowerOfTwoChoicesRequestRouter
from ray.serve.request_router import RunningReplica

from cocite_serve.replicas.health import TIMEOUT_S

PATH = f"{__name__}:AskingAgain"
"""For ``request_router_class`` of a deployment."""


class ReplicaRemovedError(RayActorError):  # type: ignore[misc]  # Ray has no types
    """Ray Serve has removed the replica that a call met, and it does not work.

    Example:
        >>> str(ReplicaRemovedError())
        'the replica was removed'
    """

    def __init__(self) -> None:
        super().__init__(error_msg="the replica was removed")


class Watched(RunningReplica):  # type: ignore[misc]  # Ray has no types
    """A replica whose calls end with an error when it is removed and does not answer.

    Args:
        replica_info: Ray Serve's description of it.

    Example:
        The router makes one of what Ray Serve's controller tells it:

        >>> issubclass(Watched, RunningReplica)
        True
    """

    def __init__(self, replica_info: Any) -> None:
        super().__init__(replica_info)
        self._gone = asyncio.Event()
        self.left: asyncio.Task[None] | None = None
        """Asks whether it works: the event loop keeps no task alive."""

    def try_send_request(self, pr: Any, with_rejection: bool) -> Any:
        """Make a call."""
        result = super().try_send_request(pr, with_rejection)
        if with_rejection:
            answer = result.get_rejection_response
            result.get_rejection_response = lambda: self._until_gone(answer())
        return result

    async def leave(self) -> None:
        """Note that Ray Serve has removed this replica: unless it says that it works, its calls end."""
        try:
            await asyncio.wait_for(self._checked(), TIMEOUT_S)
        except Exception:  # that of its health check too
            self._gone.set()

    async def _checked(self) -> None:
        """Return when its process answers, and its computing thread is not stuck."""
        await self._actor_handle.check_health.remote()

    async def _until_gone(self, answer: Coroutine[Any, Any, Any]) -> Any:
        answered = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            raise ReplicaRemovedError
        finally:
            gone.cancel()
            answered.cancel()  # where it is not done: the call itself ends with it


class AskingAgain(PowerOfTwoChoicesRequestRouter):  # type: ignore[misc]
    """Ray Serve's own choice of a replica for each call, which ends the calls of a replica that is gone.

    Example:
        >>> from ray.serve.config import RequestRouterConfig
        >>> RequestRouterConfig(request_router_class=PATH).get_request_router_class().__name__
        'AskingAgain'
    """

    def create_replica_wrapper(self, replica_info: Any) -> Watched:
        """The replica that Ray Serve describes."""
        return Watched(replica_info)

    def update_replicas(self, replicas: list[Any]) -> None:
        """Take note of the replicas that run."""
        before = dict(self.curr_replicas)
        super().update_replicas(replicas)
        for name in before.keys() - self.curr_replicas.keys():
            before[name].left = self._event_loop.create_task(before[name].leave())

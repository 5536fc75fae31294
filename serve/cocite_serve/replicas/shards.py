"""The shards of a release's index as Ray Serve deployments, and the group of them that a stage asks.

Each shard is a deployment of its own, with its own replicas. A request takes two rounds: the retriever asks all shards
in each, by their handles, from its computing thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RequestCancelledError
from ray.serve.handle import DeploymentHandle, DeploymentResponse

from cocite.errors import CociteError, IntegrityError
from cocite.retrieval.remote_shards import NoReplyError, Policy, RemoteShards, ShardFailedError
from cocite_serve.failures import StageFailedError, describe
from cocite_serve.http.problems import OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas.compute_thread import ComputeThread
from cocite_serve.replicas.health import HealthCheck
from cocite_serve.replicas.reporting import Replica, begin_reporting
from cocite_serve.tracing.origins import Origins
from cocite_serve.tracing.spans import Spans, answering, span

if TYPE_CHECKING:
    from cocite.retrieval.index.opening import SavedIndex


SHARD = "cocite.shard"
"""Attribute of spans: the shard's number, from 1."""


@dataclass(frozen=True)
class ShardHandles:
    """What a stage needs to ask the shards of its release.

    Attributes:
        handles: Ray Serve's handle of each shard's deployment, in order.
        round_s: seconds within which each shard has to answer a round.
        policy: what follows when one does not.
        start_s: seconds for which a retriever that starts waits for all of them.

    Example:
        >>> ShardHandles((), round_s=5.0, policy="fail", start_s=600.0).policy
        'fail'
    """

    handles: tuple[DeploymentHandle, ...]
    round_s: float
    policy: Policy
    start_s: float


class CallTimes:
    """When calls of a shard began and ended; a :class:`~cocite_serve.replicas.health.Progress`.

    Example:
        >>> times = CallTimes()
        >>> with times.computing():
        ...     times.began_s is None
        False
        >>> times.began_s is None, times.answered_s <= times.ended_s
        (True, True)
    """

    def __init__(self) -> None:
        self.began_s: float | None = None
        self.ended_s = self.answered_s = time.monotonic()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """A call, in the computing thread; one that raises is no answer."""
        self.began_s = time.monotonic()
        try:
            yield
            self.answered_s = time.monotonic()
        finally:
            self.ended_s, self.began_s = time.monotonic(), None


class Shard(Replica):
    """A replica of one shard, which it opens without the others.

    Args:
        release: whose index the shard is a part of.
        number: of the shard, from 0.
        stuck_s: seconds that a call may take; a replica whose call takes longer is replaced.

    Example:
        >>> import asyncio
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.sharded_index import ShardedIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ShardedIndex.create(starter_corpus(), folder, shards=2)
        ...     shard = Shard(Release(None, Path(folder), "000001", shards=2), 1)  # on Ray Serve: a replica
        ...     asyncio.run(shard.ask("ping"))
    """

    def __init__(self, release: Release, number: int, stuck_s: float = 30.0) -> None:
        from cocite.retrieval.single_shard import SingleShard

        begin_reporting("shard")
        self._number = number
        self._thread = ComputeThread(models=False)
        self._shard = SingleShard(release.index, release.index_version, number)
        self._calls = CallTimes()
        self._health = HealthCheck(self._thread, self._calls, self._shard.probe, stuck_s)

    async def ask(self, method: str, *arguments: Any, origins: Origins = ()) -> Any:
        """Call a method of the shard; a call that is cancelled before its turn is never computed.

        Args:
            method: its name.
            arguments: its arguments.
            origins: the requests that ask, for logs and traces.
        """
        try:
            with answering(f"shard.{method}", origins, {SHARD: self._number + 1}):
                context = copy_context()  # the thread works for the same requests
                with span("queue") as queued:
                    return await self._thread.run(
                        lambda: context.run(self._compute, queued, method, arguments)
                    )
        except CociteError:
            raise
        except Exception as error:  # its words may quote the query, and Ray's log would keep them
            raise StageFailedError("shard", describe(error)) from None

    def _compute(self, queued: Spans, method: str, arguments: tuple[Any, ...]) -> Any:
        queued.end()
        with span("compute"), self._calls.computing():
            return getattr(self._shard, method)(*arguments)

    async def check_health(self) -> None:
        """Return at once where the computing thread works, or has nothing to do; where it was quiet, it searches.

        Ray Serve replaces a replica whose check fails or takes too long.

        Raises:
            UnhealthyError: a call takes too long, or the search failed.
        """
        await self._health.check()


class _Call(NamedTuple):
    """A call of a shard that is under way, and its spans."""

    response: DeploymentResponse[Any]
    spans: Spans


class ServeShards(RemoteShards):
    """The shards of a release by the handles of their deployments; for one thread that runs no event loop.

    Args:
        starts: row of the first paper of each shard.
        shards: their handles, deadline and policy.

    Example:
        On Ray Serve, in a stage's replica::

            index = ShardedIndex.open(release.index, release.index_version, shards=ServeShards(starts, shards))

        >>> group = ServeShards([], ShardHandles((), round_s=5.0, policy="partial", start_s=600.0))
        >>> len(group), group.policy
        (0, 'partial')
    """

    def __init__(self, starts: list[int], shards: ShardHandles) -> None:
        super().__init__(starts, round_s=shards.round_s, policy=shards.policy)
        self._handles = shards.handles

    def _send(self, number: int, method: str, *arguments: Any) -> _Call:
        # A ping is answered some time, and by then to no request.
        spans = Spans(()) if method == "ping" else span(f"shard.{method}", {SHARD: number + 1}, "client")
        return _Call(self._handles[number].ask.remote(method, *arguments, origins=spans.origins), spans)

    def _receive(self, call: _Call, seconds: float) -> Any:
        with call.spans:
            return self._reply(call.response, seconds)

    def _reply(self, response: DeploymentResponse[Any], seconds: float) -> Any:
        try:
            return response.result(timeout_s=seconds)
        except RayTaskError as error:
            # A shard's own error arrives as a class made of RayTaskError and the original one.
            if isinstance(error.cause, StageFailedError | IntegrityError):
                raise ShardFailedError(error.cause) from error
            raise error.cause from error
        except BackPressureError as error:
            raise OverloadedError(str(error)) from error
        except DeploymentUnavailableError as error:
            raise NoReplyError("it failed to start") from error
        except RayActorError as error:
            raise NoReplyError("its process ended") from error
        except TimeoutError:
            raise
        except (RequestCancelledError, RayError) as error:
            raise NoReplyError("its reply was lost") from error

    def _cancel(self, call: _Call) -> None:
        call.response.cancel()


def open_release(release: Release, shards: ShardHandles | None, *, wait: bool = False) -> SavedIndex:
    """The index of a release, whose shards, where it is divided into some, are those of their deployments.

    Args:
        release: model and index.
        shards: their handles; None: the index is searched in this process.
        wait: whether to return only when all of them answer, or their time to start has passed.
    """
    from cocite.retrieval.index.opening import open_index
    from cocite.retrieval.index.sharded_index import ShardedIndex
    from cocite.retrieval.single_shard import describe_shards, first_rows

    if shards is None:
        return open_index(release.index, release.index_version)
    starts = first_rows(describe_shards(release.index, release.index_version))
    group = ServeShards(starts, shards)
    if wait:
        group.wait(shards.start_s)
    return ShardedIndex.open(release.index, release.index_version, shards=group)

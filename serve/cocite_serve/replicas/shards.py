"""The shards of a release's index as Ray Serve deployments, and the group of them that a stage asks.

Each shard is a deployment of its own, with its own replicas. A request takes two rounds: the retriever asks all shards
in each, by their handles, from its computing thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError, RequestCancelledError
from ray.serve.handle import DeploymentHandle, DeploymentResponse

from cocite.retrieval.remote_shards import NoReplyError, Policy, RemoteShards
from cocite_serve.http.problems import OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas.compute_thread import ComputeThread

if TYPE_CHECKING:
    from cocite.retrieval.index.opening import SavedIndex


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


class Shard:
    """A replica of one shard, which it opens without the others.

    Args:
        release: whose index the shard is a part of.
        number: of the shard, from 0.

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

    def __init__(self, release: Release, number: int) -> None:
        from cocite.retrieval.single_shard import SingleShard

        self._thread = ComputeThread(models=False)
        self._shard = SingleShard(release.index, release.index_version, number)

    async def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the shard; a call that is cancelled before its turn is never computed."""
        return await self._thread.run(lambda: getattr(self._shard, method)(*arguments))

    async def check_health(self) -> None:
        """Return when the computing thread takes work; Ray Serve replaces a replica whose checks take too long."""
        await self._thread.run(self._shard.ping)


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

    def _send(self, number: int, method: str, *arguments: Any) -> DeploymentResponse[Any]:
        return self._handles[number].ask.remote(method, *arguments)

    def _receive(self, call: DeploymentResponse[Any], seconds: float) -> Any:
        try:
            return call.result(timeout_s=seconds)
        except RayTaskError as error:
            # A shard's own error arrives as a class made of RayTaskError and the original one.
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

    def _cancel(self, call: DeploymentResponse[Any]) -> None:
        call.cancel()


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

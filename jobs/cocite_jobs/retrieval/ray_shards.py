"""The shards of an index as actors of Ray: each opens its shard alone, and all are asked at the same time.

Every machine of the cluster sees the index folder under the same path, or copies what it opens from the URI that the
index was fetched from. An actor that dies is started again by Ray, on
another machine if need be, and is asked again as soon as it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import (
    ObjectLostError,
    RayActorError,
    RayTaskError,
    TaskCancelledError,
    WorkerCrashedError,
)

from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.versions import VersionedFolder
from cocite.retrieval.remote_shards import NoReplyError, Policy, RemoteShards
from cocite.retrieval.single_shard import (
    SingleShard,
    describe_shards,
    first_rows,
)
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.cluster.resources import NO_GPUS, free_cores
from cocite_jobs.storage.cache import source_of
from cocite_jobs.storage.transfer import fetch

ROUND_S = 600.0
"""Seconds within which a shard answers a round of a batch of queries."""
START_S = 600.0
"""Seconds within which an actor is placed, and its shard compared with its SHA-256 and opened."""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **NO_GPUS}
"""Variables of an actor's process: one thread, and none of the GPUs of its node, of which it reserves none."""


class ShardActor:
    """An actor's shard, which it opens when it is first asked, after a restart too.

    A shard that cannot be opened is so an error of the call, with its own sentence, not one of the actor's start.

    Args:
        root: the index folder, or its URI.
        version: its name.
        number: of the shard, from 0.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ShardedIndex.create(starter_corpus(), folder, shards=2)
        ...     actor = ShardActor(Path(folder), "000001", 0)  # on Ray: a process of its own
        ...     actor.ask("ping")
    """

    def __init__(self, root: Path | str, version: str, number: int) -> None:
        self._where = (root, version, number)
        self._shard: SingleShard | None = None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the shard."""
        if self._shard is None:
            root, version, number = self._where
            self._shard = SingleShard(
                fetch(root, shards=(number,)) if isinstance(root, str) else root, version, number
            )
        return getattr(self._shard, method)(*arguments)


class RayShards(RemoteShards):
    """The shards of a version as actors, on a Ray that this process is connected to.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> with tempfile.TemporaryDirectory() as folder, ray_connection("local"):
        ...     _ = ShardedIndex.create(starter_corpus(), folder, shards=2)
        ...     with RayShards.started(Path(folder), "000001") as shards:
        ...         index = ShardedIndex.open(folder, shards=shards)
        ...         len(index.shards), index.paper_words(["citation parsing"]).times
        (2, array([[1., 1.]], dtype=float32))
    """

    _actors: list[Any]

    @classmethod
    @contextmanager
    def started(
        cls,
        root: Path,
        version: str,
        *,
        round_s: float = ROUND_S,
        policy: Policy = "fail",
        start_s: float = START_S,
        num_cpus: float | None = None,
    ) -> Iterator[RayShards]:
        """Start an actor for each shard, and end them with the block.

        Args:
            root: the index folder, under the path that every machine of the cluster sees it under.
            version: its name.
            round_s: seconds within which each shard has to answer a round.
            policy: what follows when one does not.
            start_s: seconds within which all shards have to be open.
            num_cpus: cores that each actor reserves; by default one, or less where the cluster has no room for that
                (:func:`cores_of_actor`). It computes in one thread whatever this says.

        Raises:
            InputError: the version is not divided into shards.
            IntegrityError: a shard is missing, damaged, or of another version.
            ShardsUnavailableError: a shard was not open in time.
        """
        described = describe_shards(root, version)
        if num_cpus is None:
            num_cpus = cores_of_actor(free_cores(), len(described))
        actor = ray.remote(ShardActor).options(
            num_cpus=num_cpus,
            max_restarts=-1,
            max_task_retries=0,  # a call that was lost with its actor is an error, and not asked twice
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": ENVIRONMENT},
        )
        shards = cls(first_rows(described), round_s=start_s, policy="fail")
        place = source_of(root) or root.resolve()
        shards._actors = [actor.remote(place, version, number) for number in range(len(described))]
        try:
            shards._ask("ping", dict.fromkeys(range(len(described)), ()), "fail")
            shards._round_s, shards.policy = round_s, policy
            yield shards
        finally:
            for started in shards._actors:
                ray.kill(started)

    def _send(self, number: int, method: str, *arguments: Any) -> Any:
        try:
            return self._actors[number].ask.remote(method, *arguments)
        except RayActorError as error:
            raise NoReplyError("its process ended") from error

    def _receive(self, call: Any, seconds: float) -> Any:
        try:
            return ray.get(call, timeout=seconds)
        except RayTaskError as error:
            # A shard's own error arrives as a class made of RayTaskError and the original one.
            raise error.cause from error
        except (RayActorError, WorkerCrashedError) as error:
            raise NoReplyError("its process ended") from error
        except (TaskCancelledError, ObjectLostError) as error:
            raise NoReplyError("its reply was lost") from error

    def _cancel(self, call: Any) -> None:
        ray.cancel(call)


def cores_of_actor(free: Sequence[float], shards: int) -> float:
    """The most cores that each shard's actor can reserve, one at most, where all have to be placed.

    Args:
        free: the cores of each node that nobody has reserved.
        shards: how many actors.

    Example:
        >>> cores_of_actor([2, 2], 4), cores_of_actor([1, 2], 4), cores_of_actor([0, 8], 4)
        (1.0, 0.666, 1.0)
    """
    shares = [min(1.0, cores / count) for cores in free if cores for count in range(1, shards + 1)]
    fits = [share for share in shares if sum(int(cores / share + 1e-9) for cores in free) >= shards]
    return int(1000 * max(fits, default=0.0)) / 1000


@contextmanager
def open_on_ray(
    root: Path, address: str | None = None, *, round_s: float = ROUND_S, policy: Policy = "fail"
) -> Iterator[ShardedIndex]:
    """Open the current version of an index while the block runs, its shards as actors of Ray.

    Args:
        root: the index folder.
        address: of a running cluster, see :func:`cocite_jobs.cluster.connection.ray_connection`.
        round_s: seconds within which each shard has to answer a round of a batch of queries.
        policy: what follows when one does not.

    Raises:
        InputError: the version is not divided into shards, or no cluster answers.
        IntegrityError: a file is damaged; a shard is missing or of another version.
        CociteError: Ray, or a shard, did not start.
    """
    version, lock = VersionedFolder(root).lock()
    try:
        describe_shards(root, version)  # before a Ray is started for it
        with (
            ray_connection(address),
            RayShards.started(root, version, round_s=round_s, policy=policy) as shards,
        ):
            yield ShardedIndex.open(root, version, shards=shards)
    finally:
        lock.release()

"""What retriever and reranker have in common as replicas: a queue, its health, and what they have loaded."""

from __future__ import annotations

from typing import Any

from cocite_serve.replicas.autoscaling import QUEUED_S
from cocite_serve.replicas.health import HealthCheck
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.reporting import Replica
from cocite_serve.replicas.worker import Worker


class QueuedStage(Replica):
    """A stage of a release behind a queue.

    Args:
        worker: computes what waits.
        health: whether it still computes.
        loaded: versions of model and index.

    Attributes:
        loaded: versions of model and index.

    Example:
        >>> import asyncio
        >>> stage = QueuedStage(None, None, LoadedVersions("5f0c", "000001"))
        >>> asyncio.run(stage.versions()).index
        '000001'
    """

    def __init__(self, worker: Worker[Any, Any], health: HealthCheck, loaded: LoadedVersions) -> None:
        self._worker, self._health, self.loaded = worker, health, loaded

    async def check_health(self) -> None:
        """Raise what :meth:`~cocite_serve.replicas.health.HealthCheck.check` raises: Ray Serve asks."""
        await self._health.check()

    async def versions(self) -> LoadedVersions:
        """Versions that this replica has loaded."""
        return self.loaded

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What :class:`~cocite_serve.replicas.autoscaling.ByQueuedWork` needs; Ray Serve asks for it by this name."""
        return {QUEUED_S: self._worker.seconds_left()}

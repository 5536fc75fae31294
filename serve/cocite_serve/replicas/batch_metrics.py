"""What a replica tells Prometheus of its queue and of what it computes together."""

from __future__ import annotations

from cocite_serve.metric_types import gauge, histogram
from cocite_serve.replicas.steps import Chunk, Step

COSTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]
"""Upper ends of the histogram's buckets."""
PADDING = [1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 4]
"""Upper ends of the buckets of what is padded."""


class BatchMetrics:
    """The metrics of a stage's replica. They need a process of Ray.

    Args:
        stage: ``retriever`` or ``reranker``.

    Example:
        >>> metrics = BatchMetrics("reranker")
        >>> metrics.observe(Chunk(parts=((1, 8), (0, 2)), cost=2_480), requests=3, seconds_left=0.4)
    """

    def __init__(self, stage: str) -> None:
        self._tags = {"stage": stage}
        self.cost = histogram(
            "cocite_batch_cost",
            description="What a stage computes together: tokens of pairs (reranker, without padding), or of texts to "
            "embed, where a query counts as 128 (retriever).",
            boundaries=COSTS,
            tag_keys=("stage",),
        )
        self.requests = histogram(
            "cocite_batch_requests",
            description="Requests whose queries or pairs a stage computes together.",
            boundaries=COSTS[:8],
            tag_keys=("stage",),
        )
        self.padding = histogram(
            "cocite_batch_padding",
            description="Tokens that the reranker computes in a chunk over those of its pairs, where it pads them.",
            boundaries=PADDING,
            tag_keys=("stage",),
        )
        self.queued = gauge(
            "cocite_queued_requests",
            description="Requests that wait or are computed in a replica.",
            tag_keys=("stage",),
        )
        self.queued_seconds = gauge(
            "cocite_queued_seconds",
            description="Seconds of work in a replica, by its measured pace: how long a new request would wait.",
            tag_keys=("stage",),
        )

    def observe_padding(self, share: float) -> None:
        """Take the tokens computed in a chunk over those of its pairs."""
        self.padding.observe(share, tags=self._tags)

    def observe(self, step: Step | None, requests: int, seconds_left: float) -> None:
        """Take a step that is done; None: the replica has nothing to do.

        Args:
            step: the step.
            requests: in the replica now.
            seconds_left: of their work.
        """
        if isinstance(step, Chunk):
            self.cost.observe(step.cost, tags=self._tags)
            self.requests.observe(len(step.parts), tags=self._tags)
        self.queued.set(requests, tags=self._tags)
        self.queued_seconds.set(seconds_left, tags=self._tags)

"""How many replicas a stage should have: as many as work off what is queued within a stated time.

Requests differ by two orders of magnitude in their tokens, so their number says little. Each replica knows the seconds
of work in its queue (the tokens that are left, by its measured pace), and reports them to Ray Serve's controller.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.serve.config import AutoscalingContext

QUEUED_S = "queued_s"
"""Name of what a replica reports: seconds of work in its queue, what it computes now included."""


class ByQueuedWork:
    """Ray Serve's autoscaling policy of a stage; Serve itself applies the bounds and the delays.

    Args:
        target_wait_s: seconds within which the replicas should have worked off what is queued.

    Example:
        Seven seconds of work lie in two replicas, and three replicas have them done in 2.5 seconds:

        >>> class Context:
        ...     current_num_replicas, aggregated_metrics = 2, {QUEUED_S: {"a": 4.0, "b": 3.0}}
        >>> ByQueuedWork(target_wait_s=2.5)(Context())
        (3, {})
    """

    def __init__(self, target_wait_s: float) -> None:
        self._target_wait_s = target_wait_s

    def __call__(self, context: AutoscalingContext) -> tuple[int, dict[str, Any]]:
        """The number of replicas, and no state to keep."""
        reported = (context.aggregated_metrics or {}).get(QUEUED_S, {})
        if not reported:
            return context.current_num_replicas, {}  # replicas that have just started have not reported yet
        return max(1, math.ceil(sum(reported.values()) / self._target_wait_s)), {}

"""What passes between a worker and its scheduler: the work of a request, the steps it is done in, and a refusal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class RefusedError(Exception):
    """A request would wait too long for others.

    Attributes:
        wait_s: seconds that it would wait for others.
        retry_s: seconds after which, without new requests, it would be admitted.
        full: whether it would be refused until then whatever its deadline is.

    Example:
        >>> RefusedError(wait_s=12.0, retry_s=2.0).retry_s
        2.0
    """

    def __init__(self, wait_s: float, retry_s: float, *, full: bool = False) -> None:
        super().__init__(f"it would wait {wait_s:.1f} s for others")
        self.wait_s, self.retry_s, self.full = wait_s, retry_s, full


@dataclass(frozen=True)
class Work:
    """What a request asks for.

    Attributes:
        items: how many.
        deadline: time of the clock at which its result is of no use any more.
        least: where a ``partial`` result will do, items without which it is refused rather than answered, if others
            are the reason.
        partial: whether its first items alone are a result; then it is closed in time for its deadline.
        group: items of different groups are never in one chunk.
        costs: of the items, where they are known without opening it.

    Example:
        >>> Work(items=200, deadline=20.0, least=10, partial=True).costs is None
        True
    """

    items: int
    deadline: float
    least: int = 0
    partial: bool = False
    group: Hashable = None
    costs: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Open:
    """Find out the costs of a request's items.

    Example:
        >>> Open(ticket=1).ticket
        1
    """

    ticket: int


@dataclass(frozen=True)
class Chunk:
    """Compute the next items of some requests together.

    Attributes:
        parts: ticket and number of items of each request.
        cost: of all of them.

    Example:
        >>> Chunk(parts=((1, 5), (2, 1)), cost=900).parts[0]
        (1, 5)
    """

    parts: tuple[tuple[int, int], ...]
    cost: int


@dataclass(frozen=True)
class Close:
    """Make the result of a request whose first ``read`` of ``items`` are computed.

    Example:
        >>> close = Close(ticket=1, read=40, items=200)
        >>> f"{close.read} of {close.items}"
        '40 of 200'
    """

    ticket: int
    read: int
    items: int


@dataclass(frozen=True)
class Late:
    """A request's deadline has passed, and a part of its result is of no use: it is gone from the scheduler.

    Example:
        >>> Late(ticket=1).ticket
        1
    """

    ticket: int


Step = Open | Chunk | Close | Late
"""What a worker computes without a pause; between two steps requests come and go."""

"""How long a query takes, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cocite.protocols import Query

REPEATS = 5

Call = Callable[[Sequence[Query]], object]
"""Given a list of one query."""


def milliseconds(
    calls: Mapping[str, Call], queries: Sequence[Query], *, repeats: int = REPEATS
) -> dict[str, float]:
    """What a query takes by each of some calls: the median over queries of the least of its repeats, in milliseconds.

    The least of a query's repeats is what it takes on a machine that does nothing else; the median over queries is what
    a usual one takes. The calls take turns, so that a busy minute of the machine is not the fault of one of them. Each
    is made once before, for what is only made once.

    Args:
        calls: name -> what is timed.
        queries: which to ask.
        repeats: how often each.
    """
    least = {name: np.full(len(queries), np.inf) for name in calls}
    for call in calls.values():
        call(queries[:1])
    for _ in range(repeats):
        for i, query in enumerate(queries):
            for name, call in calls.items():
                began = time.perf_counter()
                call([query])
                least[name][i] = min(least[name][i], time.perf_counter() - began)
    return {name: 1000 * float(np.median(times)) for name, times in least.items()}

"""Measures how long a query takes, one query at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cocite.protocols import Query

REPEATS = 5

Call = Callable[[Sequence[Query]], object]
"""Called with a list of one query."""


def median_milliseconds(
    calls: Mapping[str, Call], queries: Sequence[Query], *, repeats: int = REPEATS
) -> dict[str, float]:
    """The latency of each of some calls: the median over queries of the least of a query's repeats, in milliseconds.

    The least of a query's repeats is what it takes on an idle machine; the median over queries is what a usual query
    takes. The calls alternate, so that a busy minute of the machine slows all of them. Each is called once before the
    clock starts, for whatever it computes on first use.

    Args:
        calls: name -> what is timed.
        queries: which to pass, one at a time.
        repeats: how often each query is timed.

    Returns:
        Name -> milliseconds per query.

    Example:
        >>> from cocite.protocols import Query
        >>> queries = [Query(id="q", title="citation recommendation")]
        >>> sleep = {str(ms): lambda _, ms=ms: time.sleep(ms / 1000) for ms in (1, 100)}
        >>> times = median_milliseconds(sleep, queries, repeats=2)
        >>> 1 <= times["1"] < times["100"]
        True
    """
    least = {name: np.full(len(queries), np.inf) for name in calls}
    for call in calls.values():
        call(queries[:1])
    for _ in range(repeats):
        for i, query in enumerate(queries):
            for name, call in calls.items():
                start = time.perf_counter()
                call([query])
                least[name][i] = min(least[name][i], time.perf_counter() - start)
    return {name: 1000 * float(np.median(times)) for name, times in least.items()}

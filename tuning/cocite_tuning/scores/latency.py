"""How long a query takes, one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from cocite.protocols import Query

REPEATS = 3


def milliseconds(
    call: Callable[[Sequence[Query]], object], queries: Sequence[Query], *, repeats: int = REPEATS
) -> float:
    """Median over queries of the least of some repeats, in milliseconds.

    The least of a query's repeats is what it takes on a machine that does nothing else; the median over queries is what
    a usual one takes. The first query is asked once more before, for what is only made once.

    Args:
        call: given a list of one query.
        queries: which to ask.
        repeats: how often each.
    """
    call(queries[:1])
    least = []
    for query in queries:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            call([query])
            times.append(time.perf_counter() - began)
        least.append(min(times))
    return 1000 * float(np.median(least))

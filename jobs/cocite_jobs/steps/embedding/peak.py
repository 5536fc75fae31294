"""FLOP/s that a core or a GPU reaches at best, to compare with what an encoder reached."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from cocite.training.engine.flops import known_peak

SIZE = 1024
"""Rows and columns of the matrices whose product is the measure."""
REPEATS = 5
"""Products of which the fastest counts."""


@contextmanager
def one_core() -> Iterator[None]:
    """Within it, torch uses one core in this thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def core_peak(dtype: torch.dtype = torch.float32, repeats: int = REPEATS) -> float:
    """FLOP/s (for int8 operations/s) of the fastest of some square products on one core, by this thread's CPU seconds.

    Other processes of a busy machine disturb CPU seconds least.
    """
    best = float("inf")
    with one_core(), torch.inference_mode():
        if dtype == torch.int8:
            one, other = (torch.randint(-127, 128, (SIZE, SIZE)).to(dtype) for _ in range(2))
            product = torch._int_mm
        else:
            one, other = (torch.rand(SIZE, SIZE).to(dtype) for _ in range(2))
            product = torch.mm
        for _ in range(repeats):
            start = time.thread_time()
            product(one, other)
            best = min(best, time.thread_time() - start)
    return float(2 * SIZE**3 / best)


@cache
def device_peak(dtype: torch.dtype) -> float | None:
    """FLOP/s of the first GPU where there is one, else of one core; None: of a GPU that is not in the table."""
    if torch.cuda.is_available():
        precision = "bf16" if dtype in (torch.bfloat16, torch.float16) else "fp32"
        return known_peak(torch.cuda.get_device_name(0), precision)
    return core_peak(dtype)

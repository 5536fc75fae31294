"""Memory of a CPU training: what a step frees, the next step reuses; the end of a training returns it to the system."""

from __future__ import annotations

import ctypes
import gc
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_THRESHOLD = 32 << 20  # glibc takes no larger one
_NEVER = (1 << 31) - 1


def keep_freed_memory() -> bool:
    """Have the C library keep freed memory for the rest of this process, instead of returning it to the system.

    A step's activations are megabytes each. By default each is mapped and unmapped, and the system clears its pages
    every time: a tenth to a sixth of a small model's step on a CPU.

    Returns:
        whether the C library does so: it must be glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_THRESHOLD) and mallopt(_TRIM_THRESHOLD, _NEVER))


def return_freed_memory() -> bool:
    """Collect what nothing refers to any more, and return all freed memory to the system.

    A process that trains one model after another would else grow with each: what was kept for the last one's steps lies
    in pieces that the next one's do not fit into.

    Returns:
        whether any was returned; where the C library is not glibc, it decides for itself.
    """
    gc.collect()
    if not sys.platform.startswith("linux"):
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))

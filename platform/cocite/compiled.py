"""Compiles inner loops by Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that Numba compiles for the types that it is called with; other threads run beside it.

    The machine code is kept in ``__pycache__`` beside the function's file, or in a folder of the user's cache, or where
    ``NUMBA_CACHE_DIR`` says, so that only the first use on a machine compiles it. Where none of them can be written to,
    as in a container without a writable folder, each process compiles it anew.

    Example:
        >>> compiled(lambda number: number + 1)(2)
        3
    """
    try:
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")  # type: ignore[no-any-return]
    except RuntimeError:  # Numba found no folder for it
        return numba.njit(function, nogil=True, error_model="numpy")  # type: ignore[no-any-return]

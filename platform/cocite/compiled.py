"""Compiles inner loops by Numba."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import UserWideCacheLocator

from cocite.verification import cache_folder


class CacheByContent(UserWideCacheLocator):  # type: ignore[misc]
    """Keeps the machine code of a source file by the file's content, for Numba's ``NUMBA_CACHE_LOCATOR_CLASSES``.

    Numba's own locators go by the folder of the source. Ray unpacks the code of a job into another folder for each set
    of files that travels, so each process of each job compiled the same loops, for seven seconds and more.

    Example:
        >>> compiled.__module__ in CacheByContent(compiled, __file__).get_cache_path()
        True
    """

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        super().__init__(py_func, py_file)
        digest = self.get_source_stamp().hex()  # of SHA-256, once for all functions of a file
        folder = Path(config.CACHE_DIR) if config.CACHE_DIR else cache_folder() / "compiled"
        self._cache_path = str(folder / f"{py_func.__module__}-{digest[:16]}")


LOCATORS = f"{__name__}.{CacheByContent.__name__}, InTreeCacheLocator"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that Numba compiles for the types that it is called with; other threads run beside it.

    The machine code is kept in ``compiled/`` of the user's cache folder, or where ``NUMBA_CACHE_DIR`` says, or else in
    ``__pycache__`` beside the function's file, so that only the first use on a machine compiles it. Where none of them
    can be written to, as in a container without a writable folder, each process compiles it anew.

    Example:
        >>> compiled(lambda number: number + 1)(2)
        3
    """
    options = {"nogil": True, "error_model": "numpy"}
    chosen = config.CACHE_LOCATOR_CLASSES
    config.CACHE_LOCATOR_CLASSES = chosen or LOCATORS  # what the environment names comes first
    try:
        return numba.njit(function, cache=True, **options)  # type: ignore[no-any-return]
    except RuntimeError:  # Numba found no folder for it
        return numba.njit(function, **options)  # type: ignore[no-any-return]
    finally:
        config.CACHE_LOCATOR_CLASSES = chosen

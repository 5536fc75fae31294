"""Marks of what a process uses: whoever removes things leaves those that a living process has marked.

A mark is a file that every user locks, shared, until its process ends, however it ends. Its time says when something
was last asked for.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.locks import UNSUPPORTED, is_at

_HELD: dict[Path, int] = {}
_HOLDING = threading.Lock()


def hold(mark: Path) -> None:
    """Mark something as asked for now, and as in use until this process ends.

    Waits while another process removes it. On a file system without locks nothing is in use.

    Args:
        mark: the file; it is made where it is missing, with its folder.

    Raises:
        OSError: it cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hold(Path(folder, "corpus.used"))
        ...     with unused(Path(folder, "corpus.used")) as free:
        ...         print(free)
        ...     release_all()
        ...     with unused(Path(folder, "corpus.used")) as free:
        ...         print(free)
        False
        True
    """
    with _HOLDING:
        if mark in _HELD and not is_at(_HELD[mark], mark):  # somebody has removed the whole folder
            os.close(_HELD.pop(mark))
        if mark not in _HELD:
            _HELD[mark] = _locked(mark)
        os.utime(_HELD[mark])


def release_all() -> None:
    """Let others remove what this process has used; it is for a process that goes on and needs none of it."""
    with _HOLDING:
        while _HELD:
            os.close(_HELD.popitem()[1])


@contextmanager
def unused(mark: Path) -> Iterator[bool]:
    """Whether no process uses something; if so, none begins to while the block runs.

    Args:
        mark: the file. Where it is missing, nobody has ever used the thing.
    """
    try:
        file = mark.open("r+")
    except FileNotFoundError:
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            yield error.errno in UNSUPPORTED
            return
        yield is_at(file.fileno(), mark)


def _locked(mark: Path) -> int:
    """The descriptor of a mark, locked. One that another process removed meanwhile protects nothing."""
    while True:
        mark.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(mark, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                os.close(descriptor)
                raise
        if is_at(descriptor, mark):
            return descriptor
        os.close(descriptor)

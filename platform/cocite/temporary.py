"""Temporary files and folders: hidden, beside what they are to become, and removed whatever happens.

Each is locked while its writer lives. A writer that is killed leaves its own behind, unlocked; the next writer
to the same destination removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def temporary_beside(destination: Path, *, folder: bool) -> Iterator[Path]:
    """An empty temporary folder or file in the folder of ``destination``; removed when the body ends, if it is there.

    Raises:
        OSError: the folder cannot be written to.
    """
    remove_stale(destination)
    path = destination.with_name(_name(destination, uuid.uuid4().hex[:8]))
    lock: int | None = None
    try:  # from before the path exists, so that an interrupt at any moment leaves nothing
        lock = _make_locked(path, folder)
        yield path
    finally:
        try:
            _remove(path)
        except BaseException:
            # Ctrl-C while it was being removed: begin again, then let the interrupt through.
            _remove(path)
            raise
        finally:
            if lock is not None:
                os.close(lock)


def remove_stale(destination: Path) -> None:
    """Remove what killed writers left beside a destination; those of a living one are locked and stay."""
    with suppress(OSError):
        for path in destination.parent.iterdir():
            if not _is_temporary(path, destination):
                continue
            with suppress(OSError):
                lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(path)
                finally:
                    os.close(lock)


def _is_temporary(path: Path, destination: Path) -> bool:
    """Whether a path is named ``.NAME.xxxxxxxx.tmp`` for the destination's name."""
    middle = path.name.removeprefix(f".{destination.name}.").removesuffix(".tmp")
    return path.name == _name(destination, middle) and len(middle) == 8 and middle.isalnum()


def _name(destination: Path, middle: str) -> str:
    return f".{destination.name}.{middle}.tmp"


def _make_locked(path: Path, folder: bool) -> int:
    """Make a temporary and lock it. One that another writer removed before it was locked is made again."""
    while True:
        if folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # a file system without locks: nothing stale is removed there
            fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return lock
        os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        try:
            shutil.rmtree(path, ignore_errors=True)
        except OSError as error:
            # Ctrl-C in the moment after it closed a folder: it closes the folder again, and that error hides the
            # interrupt, so that a caller who suppresses errors would go on.
            if isinstance(error.__context__, KeyboardInterrupt | SystemExit):
                raise error.__context__ from None
            raise
    else:
        path.unlink(missing_ok=True)

"""Lock files: one process at a time writes into a folder, and the others get an error that names that process.

Locks are ``flock``: they end with their process, however it ends. A lock file names its holder and is removed when the
lock is released.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from cocite.errors import BusyError, InputError
from cocite.write_errors import writing_to

UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP)
"""Errors of a file system that has no locks: there a writer goes on without one."""
HINT = "wait until it ends, or name another folder"


@contextmanager
def locked(path: Path, *, folder: Path | str | None = None, wait: bool = False) -> Iterator[None]:
    """Hold a lock file while the block runs.

    Args:
        path: the lock file; its folder is made where it is missing.
        folder: what the lock protects, for the message; the lock file's folder by default.
        wait: wait for the present holder instead of raising.

    Raises:
        BusyError: another process holds it, and ``wait`` is off.
        InputError: something that is no folder stands where the lock file's folder should be.
        OSError: the folder cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked(Path(folder, ".lock")):
        ...         try:
        ...             with locked(Path(folder, ".lock"), folder="model"):
        ...                 pass
        ...         except BusyError as error:
        ...             print(error.where, error.hint)
        model wait until it ends, or name another folder
    """
    where = str(folder if folder is not None else path.parent)
    is_new = not path.parent.exists()
    with _open_locked(path, where, wait) as file:
        try:
            file.truncate(0)
            file.write(f"{os.getpid()} {socket.gethostname()}\n")
            file.flush()
            yield
        finally:
            path.unlink(missing_ok=True)
            if is_new:  # a writer that was refused leaves no empty folder
                with suppress(OSError):
                    path.parent.rmdir()


@contextmanager
def locked_for_writing(
    path: Path, destination: Path, *, protects: Path | str | None = None
) -> Iterator[None]:
    """Hold a lock file while the block runs, for a process that is about to write a destination.

    Errors of writing the lock file are raised as a :class:`~cocite.errors.WriteError` about the destination. Those of
    the block are not translated: the block knows better than the lock what it writes.

    Args:
        path: the lock file.
        destination: named by an error of writing.
        protects: named where another process holds the lock; the destination by default.

    Raises:
        BusyError: another process holds the lock.
        WriteError: the lock file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked_for_writing(Path(folder, ".lock"), Path(folder)):
        ...         Path(folder, ".lock").exists()
        True
    """
    with ExitStack() as stack:
        with writing_to(destination):
            stack.enter_context(locked(path, folder=protects if protects is not None else destination))
        yield


@contextmanager
def _open_locked(path: Path, where: str, wait: bool) -> Iterator[IO[str]]:
    """Open and lock a file while the block runs.

    A file that its holder removed between the two steps protects nothing, so the new one is opened.
    """
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+")
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError("is not a folder, nor can one be made there", where=where) from error
        except FileNotFoundError:  # the holder before removed the folder with its lock
            continue
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as error:
                raise BusyError(f"{_holder(file)} is at work here", where=where, hint=HINT) from error
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise
            if is_at(file.fileno(), path):
                yield file
                return


def is_at(descriptor: int, path: Path) -> bool:
    """Whether a path still names the file that is open.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     is_at(file.fileno(), Path(file.name)), is_at(file.fileno(), Path(f"{file.name}.lock"))
        (True, False)
    """
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _holder(file: IO[str]) -> str:
    """The process that holds a lock, by its id, and by its machine where that is another."""
    file.seek(0)
    number, _, machine = file.read().strip().partition(" ")
    if not number:
        return "another process"
    return f"process {number}" + (f" of {machine}" if machine != socket.gethostname() else "")

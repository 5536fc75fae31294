"""A log of JSON lines in a folder that outlives the process, of bounded size.

Each process writes files of its own, ``NAME-0.jsonl`` and so on: the first number that no living process has. A full
file becomes ``NAME-0.jsonl.1``, and so on up to the number of files that are kept.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from cocite.errors import BusyError, InputError
from cocite.locks import locked
from cocite_serve.settings import LogSettings

LogLine = Callable[[dict[str, Any]], None]
"""Writes a line of the fields that it is given."""
PROCESSES = 1_000
"""Most processes that write into one folder under one name."""


class JsonLog:
    """Appends JSON lines to a file, and begins a new file when it is full. Use :meth:`open`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = JsonLog.open(LogSettings(folder=folder), "gateway")
        ...     log.write({"status": 200})
        ...     path = log.path
        ...     log.close()
        ...     name, line = path.name, json.loads(path.read_text())
        >>> name, line["status"]
        ('gateway-0.jsonl', 200)
    """

    def __init__(self, path: Path, settings: LogSettings, lock: ExitStack) -> None:
        self.path = path
        self._lock = lock
        self._handler = _Private(
            path, maxBytes=settings.file_bytes, backupCount=settings.files - 1, encoding="utf-8"
        )

    @classmethod
    def open(cls, settings: LogSettings, name: str) -> JsonLog:
        """The log of this process.

        Args:
            settings: folder and sizes.
            name: of what writes.

        Raises:
            InputError: the folder cannot be written, or too many processes write into it.
        """
        number, lock = claim(settings, name)
        path = settings.folder / f"{name}-{number}.jsonl"
        try:
            return cls(path, settings, lock)
        except OSError as error:
            lock.close()
            raise _unwritable(settings.folder, error) from error

    def write(self, fields: dict[str, Any]) -> None:
        """Append a line: the time (UTC), then the fields. A disk that is full loses lines, and stops nothing."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"time": time} | fields, default=str)
        self._handler.handle(logging.LogRecord("cocite", logging.INFO, "", 0, text, None, None))

    def close(self) -> None:
        """Close the file, and leave its name to another process."""
        self._handler.close()
        self._lock.close()


def claim(settings: LogSettings, name: str) -> tuple[int, ExitStack]:
    """The first number that no living process has for files of a name, and what holds it until it is closed.

    Args:
        settings: the folder, which is made where it is missing.
        name: of the files.

    Raises:
        InputError: the folder cannot be written, or too many processes write into it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (first, lock), (second, other) = (claim(LogSettings(folder=folder), "keys") for _ in range(2))
        ...     lock.close(), other.close()
        (None, None)
        >>> first, second
        (0, 1)
    """
    folder = make_folder(settings)
    for number in range(PROCESSES):
        lock = ExitStack()
        try:
            lock.enter_context(locked(folder / f".{name}-{number}.lock"))
            return number, lock
        except BusyError:
            continue
        except OSError as error:
            raise _unwritable(folder, error) from error
    raise InputError(f"more than {PROCESSES} processes log here", where=str(folder))


def open_or_warn(settings: LogSettings, name: str) -> JsonLog | None:
    """The log of this process; None, and a warning in Ray's log, where none can be written.

    A replica on another machine than the command that started it goes on without: to answer matters more.
    """
    try:
        return JsonLog.open(settings, name)
    except InputError as error:
        logging.getLogger("ray.serve").warning("%s: no log is kept: %s", name, error)
        return None


def open_log(settings: LogSettings, name: str) -> LogLine | None:
    """What writes a line into the log of this process until it ends; see :func:`open_or_warn`."""
    log = open_or_warn(settings, name)
    return None if log is None else log.write


class _Private(RotatingFileHandler):
    """A rotating file that its user alone may read."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return open(descriptor, "a", encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:
        """A line that cannot be written is lost: standard error is no place for one line a request."""


def make_folder(settings: LogSettings) -> Path:
    """The folder of the logs, made where it is missing, for its user alone.

    Raises:
        InputError: it cannot be written.
    """
    folder = settings.folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("the folder of the logs cannot be written", where=str(folder), hint="--log-dir")
    return folder


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"the folder of the logs cannot be written: {error.strerror}",
        where=str(folder),
        hint="name another with --log-dir",
    )

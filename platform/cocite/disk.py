"""A disk that is full or may not be written, as one sentence that names the folder.

Each library that writes raises an error of its own kind: the system's ``OSError`` has a number, NumPy's has none,
``shutil`` lists texts, and safetensors, LightGBM and SQLite (through MLflow) have their own classes.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.errors import CociteError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Errors of a file system that no second attempt mends: no room, and no right to write."""
TEXTS = {
    **{re.escape(os.strerror(number)): number for number in (*FULL, *FORBIDDEN)},
    r"^\d+ requested and \d+ written$": errno.ENOSPC,  # NumPy
    "Cannot write binary data to": errno.ENOSPC,  # LightGBM
    "database or disk is full": errno.ENOSPC,  # SQLite
    "attempt to write a readonly database|unable to open database file": errno.EACCES,
}
"""What the message of a library's error looks like -> the number of the system's error behind it."""
LIBRARIES = ("safetensors", "lightgbm", "mlflow", "sqlalchemy", "sqlite3", "pyarrow", "shutil")
HINT = "what was there is kept: make room, then run the command again"


def disk_error(error: BaseException) -> OSError | None:
    """The system's error behind a library's, with its number; None: the error is not one of :data:`TEXTS`."""
    if isinstance(error, OSError) and error.errno is not None:
        return error if error.errno in (*FULL, *FORBIDDEN) else None
    if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in LIBRARIES:
        return None
    for text, number in TEXTS.items():
        if re.search(text, str(error)):
            return OSError(number, os.strerror(number))
    return None


@contextmanager
def disk_errors(folder: Path | str, *, hint: str = HINT) -> Iterator[None]:
    """Raise an error of the disk that a folder lies on as a sentence that names the folder.

    Args:
        folder: what the block writes.
        hint: what to do where the disk is full.

    Raises:
        CociteError: the disk is full, or may not be written.
    """
    try:
        yield
    except CociteError:
        raise
    except Exception as error:
        found = disk_error(error)
        if found is None:
            raise
        words = os.strerror(found.errno or 0)
        if found.errno in FULL:  # the file that the error names may be the one that was read
            raise CociteError(words, where=str(folder), hint=hint) from error
        where = os.fsdecode(found.filename) if found.filename is not None else str(folder)
        raise CociteError(words, where=where, hint="check the rights, or name another folder") from error

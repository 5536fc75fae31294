"""Errors of the file system while something is written, as one sentence that names the destination.

A full disk shows itself in as many ways as there are libraries that write: as an ``OSError`` that names the file read
from, or none; as NumPy's "8192 requested and 512 written"; as a ``RuntimeError`` of FAISS; as error classes of
safetensors, LightGBM, and SQLite through MLflow. Most of them happen in a temporary file or folder whose name
means nothing to the user.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.errors import CociteError, WriteError

FULL = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "no space left in the disk quota",
    errno.EFBIG: "the file would be larger than the system allows",
}
"""Errors of a write that finds too little space -> reason."""
REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG),
    *(errno.ENOTDIR, errno.ELOOP, errno.EIO, errno.EISDIR),
)
"""Other errors of a write. Reading a file may raise them too, so the error must name the destination."""
_TEXTS = {
    **{re.escape(os.strerror(code)): code for code in (*FULL, errno.EROFS)},
    **{rf"\(os error {code}\)": code for code in (*FULL, errno.EROFS, errno.EACCES)},
    "Cannot write binary data to": errno.ENOSPC,  # LightGBM
    "database or disk is full": errno.ENOSPC,  # SQLite
    "attempt to write a readonly database|unable to open database file": errno.EACCES,
}
"""Pattern of the text of a library's error -> number of the system's error behind it."""
_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")
_HINT = "free some space or choose another place; what was there before is unchanged"


@contextmanager
def writing_to(
    destination: Path | str, temporary: Path | None = None, *, hint: str = _HINT
) -> Iterator[None]:
    """Raise a :class:`~cocite.errors.WriteError` about ``destination`` for an error of writing in the body.

    Args:
        destination: the path or URI that the user named.
        temporary: the folder or file that is written meanwhile; an error about a path in it is one of the destination.
        hint: what to do where there is no space.
    """
    try:
        yield
    except WriteError as error:
        # A writer nested in the temporary folder has raised it already, with a path that is about to be removed.
        if temporary is None or not _within(error.where, temporary):
            raise
        raise WriteError(error.message, where=str(destination), hint=error.hint) from error
    except CociteError:
        raise
    except Exception as error:
        sentence = write_error(error, destination, temporary, hint=hint)
        if sentence is None:
            raise
        raise sentence from error


def write_error(
    error: Exception, destination: Path | str, temporary: Path | None = None, *, hint: str = _HINT
) -> WriteError | None:
    """The sentence for an error of writing; None for any other."""
    code = system_error(error)
    if code in FULL:
        return WriteError(FULL[code], where=str(destination), hint=hint)
    if code == errno.EROFS or (code in REFUSED and _concerns(error, Path(destination), temporary)):
        reason = os.strerror(code)
        return WriteError(f"cannot be written: {reason[0].lower()}{reason[1:]}", where=str(destination))
    return None


def system_error(error: BaseException) -> int | None:
    """The system's number of an error, read from the text where a library keeps nothing else."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    text = str(error)
    for pattern, code in _TEXTS.items():
        if re.search(pattern, text):
            return code
    # NumPy keeps no reason; where a file takes only a part, there is no room for the rest.
    return errno.ENOSPC if isinstance(error, OSError) and _SHORT_WRITE.search(text) else None


def _concerns(error: Exception, destination: Path, temporary: Path | None) -> bool:
    """Whether an error names the destination, a path above or below it, or something in the temporary folder.

    A library's error that names no path is one of what the library was writing.
    """
    if not isinstance(error, OSError):
        return True
    paths = [Path(os.fsdecode(name)).absolute() for name in (error.filename, error.filename2) if name]
    target = destination.absolute()
    return any(
        path in target.parents
        or path.is_relative_to(target)
        or (temporary is not None and _within(str(path), temporary))
        for path in paths
    )


def _within(where: str | None, folder: Path) -> bool:
    return where is not None and Path(where).absolute().is_relative_to(folder.absolute())

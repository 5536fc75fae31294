"""Files that are replaced whole: a reader sees the old content or the new one, and a failure leaves the old."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cocite.errors import InputError
from cocite.temporary import temporary_beside
from cocite.write_errors import writing_to


def write_atomic(path: Path, text: str) -> None:
    """Replace a file's content so that a reader sees the old text or the new one, whole.

    Raises:
        InputError: a folder is at ``path``.
        WriteError: the file cannot be written.
    """
    with replace_file(path) as file:
        file.write(text.encode())


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the body ends; if the body raises, nothing changes.

    A symbolic link stays, and its target is replaced. What is no regular file, such as ``/dev/stdout`` or a named pipe,
    cannot be replaced: it is written to.

    Raises:
        InputError: a folder is at ``path``.
        WriteError: the file cannot be written.
    """
    path = Path(path)
    refuse_folder(path)
    target = Path(os.path.realpath(path))
    with writing_to(path):
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(target, folder=False) as temporary, writing_to(path, temporary):
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            sync(target.parent)


@contextmanager
def replace_files(folder: Path | None) -> Iterator[Path | None]:
    """Yield a temporary folder whose files are moved into ``folder`` when the body ends; other files there stay.

    If the body raises, nothing changes, so that the files in the folder always belong together. Without a folder
    nothing is written, and None is yielded.

    Raises:
        WriteError: there is no space, or the folder cannot be written to.
    """
    if folder is None:
        yield None
        return
    target = Path(os.path.realpath(folder))
    with writing_to(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(target, folder=True) as temporary, writing_to(folder, temporary):
            yield temporary
            target.mkdir(exist_ok=True)
            for path in sorted(temporary.iterdir()):
                path.replace(target / path.name)
            sync(target)


def refuse_folder(path: Path) -> None:
    """Refuse a path where a file is to be written and a folder is."""
    if path.is_dir():
        raise InputError("is a folder, not a file to write to", where=str(path), hint="name a file")


def sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

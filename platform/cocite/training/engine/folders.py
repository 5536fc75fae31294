"""Folders of small files beside the checkpoints, on this machine and elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol, Self

from cocite.atomic_files import replace_file


class Folder(Protocol):
    """A folder that need not exist. Each rank uses it by itself; ``cocite_jobs``' ``Location`` is one.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as path:
        ...     folder: Folder = LocalFolder(Path(path)) / "blocks"
        ...     folder.write("first", b"ab")
        ...     folder.names(), folder.read("first"), folder.read("second")
        (['first'], b'ab', None)
    """

    def __truediv__(self, name: str) -> Self:
        """A folder in it."""
        ...

    def names(self) -> list[str]:
        """Names of its files and folders, sorted; none where it does not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """The content of a file; None: there is no such file."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Replace a file. A reader sees the old content or the new, never a part.

        Raises:
            CociteError: it cannot be written.
        """
        ...

    def clear(self) -> None:
        """Remove the folder and its content."""
        ...


class LocalFolder:
    """A :class:`Folder` of this machine, or of a file system that all machines share.

    Args:
        path: of the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as path:
        ...     folder = LocalFolder(Path(path, "blocks"))
        ...     folder.write("first", b"ab")
        ...     folder.clear()
        ...     folder.names(), Path(path, "blocks").exists()
        ([], False)
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __truediv__(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def names(self) -> list[str]:
        """See :class:`Folder`."""
        return sorted(os.listdir(self.path)) if self.path.is_dir() else []

    def read(self, name: str) -> bytes | None:
        """See :class:`Folder`."""
        path = self.path / name
        return path.read_bytes() if path.is_file() else None

    def write(self, name: str, content: bytes) -> None:
        """See :class:`Folder`."""
        with replace_file(self.path / name) as file:
            file.write(content)

    def clear(self) -> None:
        """See :class:`Folder`."""
        shutil.rmtree(self.path, ignore_errors=True)

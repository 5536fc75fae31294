"""Puts an artifact into another folder without copying its files, where the file system can."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path


def link_artifact(artifact: Path, folder: Path) -> None:
    """Put an artifact into a folder: its files are hard links, or copies where they cannot be.

    Links suffice because the files of artifacts never change: a process that replaces an artifact in one folder writes
    new files there.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     (Path(root) / "nnselect").mkdir()
        ...     _ = (Path(root) / "nnselect" / "weights").write_text("1 2 3")
        ...     (Path(root) / "trial").mkdir()
        ...     link_artifact(Path(root) / "nnselect", Path(root) / "trial")
        ...     (Path(root) / "trial" / "nnselect" / "weights").read_text()
        '1 2 3'
    """
    # Renamed when complete: a process that dies half-way leaves no half of an artifact under its name.
    temporary = folder / f".{artifact.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        shutil.copytree(artifact, temporary, copy_function=_link)
        temporary.rename(folder / artifact.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copy2(source, target)  # another file system, or one without links

"""Files at a second path without a second copy, where the file system can.

Links suffice because the files of artifacts never change: a process that replaces an artifact writes new files.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path


def link_file(source: str | Path, destination: str | Path) -> None:
    """The same file at another path: a hard link where the file system can, a copy where it cannot."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)  # whose own error says why neither can be


def link_folder(source: Path, destination: Path) -> None:
    """The same folder at another path, see :func:`link_file`."""
    shutil.copytree(source, destination, copy_function=link_file)


def add_links(source: Path, destination: Path) -> None:
    """As :func:`link_folder`, into a folder that may hold other files."""
    shutil.copytree(source, destination, copy_function=link_file, dirs_exist_ok=True)


def link_artifact(artifact: Path, folder: Path) -> None:
    """Put an artifact into a folder, under its own name, whole or not at all.

    Raises:
        OSError: the folder holds another of this name, or cannot be written.

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
        link_folder(artifact, temporary)
        temporary.rename(folder / artifact.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)

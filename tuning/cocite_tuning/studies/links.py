"""Puts artifacts into another folder without copying their files, where the file system can."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

from cocite.manifests import MANIFEST
from cocite_jobs.storage.location import Location


def put_components(folder: Location, source: Location, wanted: Callable[[str], bool]) -> None:
    """Put the components of a model folder into another that lacks them.

    Args:
        folder: that gets them.
        source: that has them; it need not exist.
        wanted: says of a component's name whether it is put there.
    """
    for name in source.names():
        if not wanted(name) or MANIFEST not in (source / name).names():
            continue
        if MANIFEST in (folder / name).names() or (folder.local and (folder / name).names()):
            continue
        if folder.local is not None and source.local is not None:
            folder.local.mkdir(parents=True, exist_ok=True)
            link_artifact(source.local / name, folder.local)
            continue
        with tempfile.TemporaryDirectory(prefix="cocite-component-") as temporary:
            copy = Path(temporary, name)
            (source / name).get(copy)
            (folder / name).put(copy)


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

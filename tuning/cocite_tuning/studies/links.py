"""Puts artifacts into another folder without copying their files, where the file system can."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from cocite.hard_links import link_artifact
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


def folder_below(folder: str, name: str) -> str:
    """A folder within another, which is a path or a URI whose query stays at its end.

    Example:
        >>> folder_below("s3://bucket/sweep?scheme=http", "shared")
        's3://bucket/sweep/shared?scheme=http'
    """
    path, mark, query = folder.partition("?") if "://" in folder else (folder, "", "")
    return f"{path.rstrip('/')}/{name}{mark}{query}"

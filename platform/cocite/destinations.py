"""Checks that a path may be written to, before long work begins, so that nothing is lost at its end."""

from __future__ import annotations

import os
from pathlib import Path

from cocite.atomic_files import refuse_folder
from cocite.errors import CociteError, InputError
from cocite.manifests import MANIFEST, read_manifest


def check_file_destination(path: Path | None, *inputs: Path | None) -> None:
    """Refuse a path at which no file can be written; a command calls it before it begins long work.

    Args:
        path: of the file; None: the command writes none.
        inputs: what the command reads, which its output must not replace.

    Raises:
        InputError: a folder or an input is there, a file is where its folder would be, or it lies in an artifact,
            which holds nothing but the files that its manifest names.
    """
    if path is None:
        return
    refuse_folder(path)
    _check_parents(path)
    if path.exists() and any(
        source is not None and source.exists() and path.samefile(source) for source in inputs
    ):
        raise InputError(
            "is read by this command, so nothing is written to it", where=str(path), hint="name another file"
        )


def check_folder_destination(folder: Path | None) -> None:
    """Refuse a folder into which no files can be put; a command calls it before it begins long work.

    Raises:
        InputError: a file is there or above it, or it is an artifact or lies in one.
    """
    if folder is not None:
        _check_parents(folder / "file")


def check_artifact_destination(destination: Path, *, replace: bool = False) -> None:
    """Refuse a destination at which no artifact can be published. An empty folder is as good as none.

    Raises:
        InputError: it holds what may not be overwritten, a file is above it, or it lies in an artifact.
    """
    check_output_empty(destination, replace)
    _check_parents(destination)


def check_output_empty(destination: Path, replace: bool) -> None:
    """Refuse a folder that is not empty, unless it is an artifact that may be replaced."""
    if not destination.exists() or (destination.is_dir() and not any(destination.iterdir())):
        return
    if not replace:
        raise InputError(
            "already exists", where=str(destination), hint="choose another folder or pass --replace"
        )
    if not (destination / MANIFEST).is_file():
        raise InputError(
            f"holds no {MANIFEST}, so it is not a cocite artifact and is not replaced",
            where=str(destination),
            hint="choose another folder",
        )


def _check_parents(path: Path) -> None:
    for parent in Path(os.path.realpath(path)).parents:
        if (parent.exists() or parent.is_symlink()) and not parent.is_dir():
            raise InputError(
                "is a file, not a folder to write into", where=str(parent), hint="choose another folder"
            )
        if (kind := _kind_of(parent)) is not None:
            raise InputError(
                f"is a {kind}, which holds only what its {MANIFEST} names",
                where=str(parent),
                hint="choose another folder",
            )


def _kind_of(folder: Path) -> str | None:
    """The kind of the artifact that a folder is; None where it is none."""
    if not (folder / MANIFEST).is_file():
        return None
    try:
        return read_manifest(folder).kind
    except CociteError:
        return None

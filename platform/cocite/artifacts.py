"""Artifacts: folders that appear whole or not at all, and that can prove they are undamaged.

An artifact is a folder with a ``manifest.json`` that holds its kind, its free-form description, the size and SHA-256 of
every other file, those of artifacts nested in it included, and a SHA-256 of its own content. It is written beside its
destination, synced to disk, and renamed.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.atomic_files import sync, write_atomic
from cocite.destinations import check_artifact_destination, check_output_empty
from cocite.errors import IntegrityError
from cocite.manifests import MANIFEST, RESTORE, Manifest, manifest_text, read_error, read_manifest
from cocite.temporary import temporary_beside
from cocite.write_errors import writing_to


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_PARSING = threading.Lock()


def load_array(path: Path, *, mapped: bool = True) -> NDArray[Any]:
    """A NumPy file of an artifact, memory-mapped for reading unless ``mapped`` is off.

    NumPy reads a file's header with ``ast.literal_eval``, which in CPython 3.11 fails now and then when two threads
    call it at once ("AST constructor recursion depth mismatch"), so a lock lets one thread at a time read.

    Raises:
        IntegrityError: there is no such file, or it holds no array of numbers.
        CociteError: the system does not let it be read.
    """
    try:
        with _PARSING:
            array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
        raise read_error(error, path, "not a readable array") from error
    return array


@contextmanager
def publish(
    destination: Path,
    *,
    kind: str,
    meta: dict[str, Any],
    replace: bool = False,
    known: Mapping[str, dict[str, Any]] | None = None,
) -> Iterator[Path]:
    """Write an artifact: yields a temporary folder to fill, then seals and renames it to ``destination``.

    If the body raises, nothing changes at ``destination`` and the temporary folder is removed. ``meta`` is read
    when the body ends, so the body may still fill it. With ``replace`` an existing artifact stays readable
    until the new one takes its place in one step; a folder that is not an artifact is never replaced. Of two
    writers without ``replace``, the one that ends first wins and the other raises.

    Args:
        destination: the folder to make.
        kind: of the artifact.
        meta: its description.
        replace: whether it may take the place of an artifact.
        known: entries of :func:`seal`, likewise read when the body ends.

    Raises:
        InputError: something is at ``destination`` that this call may not replace.
        WriteError: there is no space, or the destination cannot be written to.
    """
    destination = Path(destination)
    target = Path(os.path.realpath(destination))
    with writing_to(destination):
        check_artifact_destination(destination, replace=replace)
        target.parent.mkdir(parents=True, exist_ok=True)
        # After an exchange the temporary folder is the old artifact. A process that still maps its files keeps them
        # until it closes them.
        with temporary_beside(target, folder=True) as temporary, writing_to(destination, temporary):
            yield temporary
            seal(temporary, kind=kind, meta=meta, known=known)
            _put(temporary, target, replace)
            sync(target.parent)


def _put(temporary: Path, destination: Path, replace: bool) -> None:
    """Rename a sealed folder to its destination, or swap it with the artifact that is there."""
    try:
        temporary.rename(destination)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        check_output_empty(destination, replace)
        exchange(temporary, destination)


def exchange(one: Path, other: Path) -> None:
    """Swap two folders of one file system in a single step, so that neither name is ever without a folder.

    Uses Linux's ``renameat2`` with ``RENAME_EXCHANGE``. Where the system or the file system has none, three
    renames do it, and for a moment between them ``other`` is absent.
    """
    if _renameat2(one, other):
        return
    aside = other.with_name(f".{other.name}.{uuid.uuid4().hex[:8]}.old")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def _renameat2(one: Path, other: Path) -> bool:
    """Exchange two paths in the kernel; False where that is not supported."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of <linux/fs.h>
    if call(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(swap)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


def seal(
    folder: Path, *, kind: str, meta: dict[str, Any], known: Mapping[str, dict[str, Any]] | None = None
) -> Manifest:
    """Write the manifest of a finished folder and sync every file of it to disk.

    Args:
        folder: all of the artifact.
        kind: of it.
        meta: its description.
        known: entries of files that another manifest holds, such as that of an artifact whose files were linked. They
            are not read again, and damage since then is found, as it is there: nobody takes it for the content.
    """
    files = {}
    for path in _members(folder):
        name, size = path.relative_to(folder).as_posix(), path.stat().st_size
        entry = (known or {}).get(name)
        if entry is None or entry["bytes"] != size:
            sync(path)
            entry = {"bytes": size, "sha256": sha256(path)}
        sync(path.parent)
        files[name] = entry
    write_atomic(folder / MANIFEST, manifest_text(kind, meta, files))
    sync(folder)
    return Manifest(kind, meta, files)


def verify(folder: Path, *, kind: str | None = None, foreign: bool = True) -> Manifest:
    """Check every file against the manifest, and read every byte for it.

    Args:
        folder: the artifact.
        kind: what it must be; None: anything.
        foreign: whether a file that the manifest does not name is refused.

    Raises:
        IntegrityError: a file is damaged, missing or foreign; the first one is named.
        CociteError: the system does not let a file be read.
    """
    folder = Path(folder)
    manifest = read_manifest(folder, kind=kind)
    for path in _members(folder) if foreign else ():
        if path.relative_to(folder).as_posix() not in manifest.files:
            raise IntegrityError(
                "the manifest does not name this file", where=str(path), hint="move it elsewhere"
            )
    compare(folder, manifest)
    return manifest


def compare(folder: Path, manifest: Manifest) -> None:
    """Compare the files that a manifest names with their sizes and SHA-256.

    Raises:
        IntegrityError: a file is damaged or missing; the first one is named.
        CociteError: the system does not let a file be read.
    """
    check_sizes(folder, manifest)
    for name, entry in sorted(manifest.files.items()):
        try:
            digest = sha256(folder / name)
        except OSError as error:
            raise read_error(error, folder / name, "the file is missing") from error
        if digest != entry["sha256"]:
            raise IntegrityError(
                "damaged: its SHA-256 is not the manifest's", where=str(folder / name), hint=RESTORE
            )


def check_sizes(folder: Path, manifest: Manifest) -> dict[str, os.stat_result]:
    """The state of every file by its name, in order, after comparing its size with the manifest's.

    Raises:
        IntegrityError: a file is missing or of another size.
        CociteError: the system does not let a file be looked at.
    """
    states = {}
    for name, entry in sorted(manifest.files.items()):
        path = folder / name
        try:
            state = path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise IntegrityError("the file is missing", where=str(path), hint=RESTORE) from error
        except OSError as error:
            raise read_error(error, path, "the file is missing") from error
        if not stat.S_ISREG(state.st_mode):
            raise IntegrityError("the file is missing: this is none", where=str(path), hint=RESTORE)
        if state.st_size != entry["bytes"]:
            raise IntegrityError(
                f"damaged: {state.st_size} bytes where the manifest says {entry['bytes']}",
                where=str(path),
                hint=RESTORE,
            )
        states[name] = state
    return states


def _members(folder: Path) -> list[Path]:
    """Every file of a folder but its own manifest; the manifests of nested artifacts are files like others."""
    own = folder / MANIFEST
    return sorted(path for path in folder.rglob("*") if path.is_file() and path != own)

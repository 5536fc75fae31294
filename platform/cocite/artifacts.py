"""Artifacts: folders that appear whole or not at all, and that can prove they are undamaged.

An artifact is a folder with a ``manifest.json`` that holds its kind, its free-form description, the
size and SHA-256 of every other file, those of artifacts nested in it included, and a SHA-256 of all that the
manifest says itself. It is written beside its destination, synced to disk, and renamed.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import stat
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.atomic_files import refuse_folder, sync
from cocite.atomic_files import write_atomic as write_atomic  # what writes artifacts imports it from here
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.temporary import temporary_beside
from cocite.write_errors import writing_to

MANIFEST = "manifest.json"
FORMAT = 1
RESTORE = "restore it or build it again"
_ENTRIES = {"format", "kind", "meta", "files"}


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says of its folder."""

    kind: str
    meta: dict[str, Any]
    files: dict[str, dict[str, Any]]

    @property
    def digest(self) -> str:
        """A short fingerprint of the folder's content: 16 hexadecimal digits."""
        text = json.dumps(
            {"kind": self.kind, "files": {name: entry["sha256"] for name, entry in self.files.items()}},
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file_destination(path: Path | None, *inputs: Path | None) -> None:
    """Refuse a path at which no file can be written; a command calls it before it begins long work.

    Args:
        path: of the file; None: there is none to write.
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
        given is not None and given.exists() and path.samefile(given) for given in inputs
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


def read_json(path: Path) -> Any:
    """Parse a JSON file; a damaged one is an :class:`IntegrityError` that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise read_error(error, path, "not valid JSON") from error


def read_error(error: Exception, path: Path, message: str, hint: str | None = None) -> CociteError:
    """The error to raise for a file of an artifact that could not be read.

    Args:
        error: what the library or the system raised.
        path: the file.
        message: what is wrong where the content is.
        hint: what to do then.

    Returns:
        An :class:`IntegrityError` where the file is missing or its content is bad; what the system says where the file
        cannot be read at all (no permission, a failing disk): that says nothing of the content.
    """
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
        return CociteError(f"cannot be read: {os.strerror(error.errno)}", where=str(error.filename or path))
    return IntegrityError(f"{message}: {error}", where=str(path), hint=hint)


_PARSING = threading.Lock()


def load_array(path: Path, *, mapped: bool = True) -> NDArray[Any]:
    """A NumPy file of an artifact, memory-mapped for reading unless told otherwise.

    NumPy reads a file's header with ``ast.literal_eval``, which in CPython 3.11 fails now and then when two threads
    are in it at once ("AST constructor recursion depth mismatch"): one thread at a time, then.

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
def publish(destination: Path, *, kind: str, meta: dict[str, Any], replace: bool = False) -> Iterator[Path]:
    """Write an artifact: yields a temporary folder to fill, then seals and renames it to ``destination``.

    If the body raises, nothing changes at ``destination`` and the temporary folder is removed. ``meta`` is read
    when the body ends, so the body may still fill it. With ``replace`` an existing artifact stays readable
    until the new one takes its place in one step; a folder that is not an artifact is never replaced. Of two
    writers without ``replace``, the one that ends first wins and the other is told.

    Raises:
        InputError: something is at ``destination`` that this call may not replace.
        WriteError: there is no space, or the destination cannot be written to.
    """
    destination = Path(destination)
    target = Path(os.path.realpath(destination))
    with writing_to(destination):
        check_artifact_destination(destination, replace=replace)
        target.parent.mkdir(parents=True, exist_ok=True)
        # After an exchange the temporary folder is the old artifact. Who still maps its files keeps them until they
        # are closed.
        with temporary_beside(target, folder=True) as temporary, writing_to(destination, temporary):
            yield temporary
            seal(temporary, kind=kind, meta=meta)
            _put(temporary, target, replace)
            sync(target.parent)


def check_artifact_destination(destination: Path, *, replace: bool = False) -> None:
    """Refuse a destination at which no artifact can be published. An empty folder is as good as none.

    Raises:
        InputError: it holds what may not be overwritten, a file is above it, or it lies in an artifact.
    """
    _check_vacant(destination, replace)
    _check_parents(destination)


def _check_vacant(destination: Path, replace: bool) -> None:
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


def _put(temporary: Path, destination: Path, replace: bool) -> None:
    """Rename a sealed folder to its destination, or swap it with the artifact that is there."""
    try:
        temporary.rename(destination)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        _check_vacant(destination, replace)
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


def seal(folder: Path, *, kind: str, meta: dict[str, Any]) -> Manifest:
    """Write the manifest of a finished folder and sync every file of it to disk."""
    files = {}
    for path in _members(folder):
        sync(path)
        sync(path.parent)
        files[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    write_atomic(folder / MANIFEST, manifest_text(kind, meta, files))
    sync(folder)
    return Manifest(kind, meta, files)


def manifest_text(kind: str, meta: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a manifest, with the SHA-256 of what it says."""
    # As it will be read again: JSON has no tuples, and all its keys are strings.
    said: dict[str, Any] = json.loads(
        json.dumps({"format": FORMAT, "kind": kind, "meta": meta, "files": files}, sort_keys=True)
    )
    return json.dumps(said | {"sha256": _digest_of(said)}, indent=1, sort_keys=True) + "\n"


def _digest_of(said: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, whatever its layout."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path, *, kind: str | None = None) -> Manifest:
    """The manifest of an artifact; raises when it is missing, damaged, or of another kind.

    What it says of the files is not compared with the files: :mod:`cocite.verification` does that.
    """
    folder = Path(folder)
    where = str(folder / MANIFEST)
    try:
        if not folder.is_dir():
            raise NotFoundError("no such folder", where=str(folder))
        if not (folder / MANIFEST).exists():
            raise NotFoundError(f"holds no {MANIFEST}, so it is not a cocite artifact", where=str(folder))
    except OSError as error:
        raise read_error(error, folder / MANIFEST, "not a manifest") from error
    data = read_json(folder / MANIFEST)
    if not isinstance(data, dict) or "format" not in data:
        raise IntegrityError("is not the manifest of an artifact: it names no format", where=where)
    said = {name: value for name, value in data.items() if name != "sha256"}
    # An earlier cocite wrote these four alone.
    whole = data["sha256"] == _digest_of(said) if "sha256" in data else said.keys() <= _ENTRIES
    if not whole:
        raise IntegrityError(
            "damaged: what it says does not match its own SHA-256", where=where, hint=RESTORE
        )
    if data["format"] != FORMAT:
        raise InputError(
            f"format {data['format']!r} is not the format {FORMAT} this version reads", where=where
        )
    try:
        manifest = Manifest(str(data["kind"]), dict(data["meta"]), _entries(data["files"]))
    except KeyError as error:
        raise IntegrityError(f"the manifest lacks {error}", where=where) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise IntegrityError(f"the manifest is damaged: {error}", where=where) from error
    if kind is not None and manifest.kind != kind:
        raise InputError(f"is a {manifest.kind}, not a {kind}", where=str(folder))
    return manifest


def holds(folder: Path, *, kind: str, meta: Mapping[str, Any]) -> bool:
    """Whether a folder is an artifact of a kind whose ``meta`` says this and perhaps more; False if it is none."""
    try:
        known = read_manifest(folder, kind=kind).meta
    except CociteError:
        return False
    return all(known.get(name) == value for name, value in meta.items())


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
    check_sizes(folder, manifest)
    for name, entry in sorted(manifest.files.items()):
        try:
            found = sha256(folder / name)
        except OSError as error:
            raise read_error(error, folder / name, "the file is missing") from error
        if found != entry["sha256"]:
            raise IntegrityError(
                "damaged: its SHA-256 is not the manifest's", where=str(folder / name), hint=RESTORE
            )
    return manifest


def check_sizes(folder: Path, manifest: Manifest) -> dict[str, os.stat_result]:
    """The state of every file by its name, in order, each of the size that the manifest says.

    Raises:
        IntegrityError: a file is missing or of another size.
        CociteError: the system does not let a file be looked at.
    """
    found = {}
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
        found[name] = state
    return found


def _entries(files: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The manifest's files, checked: each has a size and a digest, and none lies outside the folder."""
    for name, entry in files.items():
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError(f"{name!r} is not a path inside the folder")
        if not isinstance(entry["bytes"], int) or not isinstance(entry["sha256"], str):
            raise TypeError(f"{name!r} has no valid size and SHA-256")
    return files


def _members(folder: Path) -> list[Path]:
    """Every file of a folder but its own manifest; the manifests of nested artifacts are files like others."""
    own = folder / MANIFEST
    return sorted(path for path in folder.rglob("*") if path.is_file() and path != own)

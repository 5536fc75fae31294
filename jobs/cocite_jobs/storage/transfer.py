"""Whatever a command reads or writes elsewhere, as a local copy: files, artifacts, model folders, indexes, folders.

A command reads a copy in this machine's cache, which is made once. It writes into a temporary folder, whose content is
uploaded when the command has succeeded: of an artifact the manifest last, of an index the file CURRENT last.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.errors import BusyError, InputError, NotFoundError
from cocite.locks import locked
from cocite.manifests import MANIFEST
from cocite.retrieval.index.versions import VersionedFolder
from cocite.temporary import temporary_beside
from cocite_jobs.storage.cache import copies_of, fetch_local
from cocite_jobs.storage.location import Location

CURRENT, VERSIONS, SHARDS = "CURRENT", "versions", "shards"
"""Names in an index folder; see :mod:`cocite.retrieval.index.versions`."""


def fetch(uri: str, *, shards: Collection[int] | None = None) -> Path:
    """A local copy of a file or folder elsewhere.

    Args:
        uri: of a file, an artifact, a folder of artifacts, an index or any other folder.
        shards: numbers of the shards of an index that are copied; None: all.

    Raises:
        NotFoundError: nothing is there.
        CociteError: the file system does not answer, or an artifact is damaged.

    Example:
        >>> fetch("file:///data/queries.jsonl").as_posix()
        '/data/queries.jsonl'
    """
    location = Location.of(uri)
    if location.local is not None:
        return location.local
    if location.is_file():
        return _copy_of(location.parent, [location.name]) / location.name
    names = location.names()
    if CURRENT in names:
        return _index_copy(location, shards)
    files = location.files_below()
    if MANIFEST in names or any(f"{name}/{MANIFEST}" in files for name in names if name[0] != "."):
        return fetch_local(uri)
    if not files:
        raise NotFoundError("nothing is there", where=uri)
    return _copy_of(location, list(files))


@contextmanager
def uploaded(uri: str, *, replace: bool | None = None) -> Iterator[Path]:
    """A path in a temporary folder, whose content is uploaded when the block has succeeded.

    Files beside the path, such as those of rejected records, are uploaded beside the destination.

    Args:
        uri: the destination.
        replace: whether what is there may be replaced; None: by the kind of what is written.

    Raises:
        InputError: something is there that may not be replaced.
        BusyError: another process has made a version of the same index meanwhile.
    """
    location = Location.of(uri)
    if location.files is not None and "/" not in location.path:
        raise InputError("is a whole bucket", where=uri, hint="name a folder in it")
    names = location.names()
    if MANIFEST not in names and (location.parent / _mark(location)).is_file():
        names = []  # a process was ended while it uploaded: nobody has read what it left
    if names and replace is False:
        raise InputError("already exists", where=uri, hint="choose another folder or pass --replace")
    if names and replace and MANIFEST not in names:
        raise InputError(
            f"holds no {MANIFEST}, so it is not replaced", where=uri, hint="choose another folder"
        )
    with tempfile.TemporaryDirectory(prefix="cocite-upload-") as temporary:
        path = Path(temporary, location.name)
        current = location.read(CURRENT) if CURRENT in names else None
        if current is not None:  # the next version is made beside the current one
            shutil.copytree(_index_copy(location, None), path, symlinks=True)
        copied = VersionedFolder(path).names()
        yield path
        for written in sorted(Path(temporary).iterdir()):
            if written == path and (path / CURRENT).is_file():
                _upload_index(path, location, copied, current)
            else:
                _upload(written, location.parent / written.name)


def _copy_of(location: Location, names: Collection[str]) -> Path:
    """A folder of the cache with some files of a location; another state of the files gets another folder."""
    one = len(names) == 1
    present = {name: (location / name).file_state() for name in names} if one else location.files_below()
    state = repr([(name, present.get(name)) for name in sorted(names)])
    copies = copies_of(location)
    folder = copies / hashlib.sha256(state.encode()).hexdigest()[:16]
    with locked(folder.with_suffix(".lock"), wait=True):
        if not folder.is_dir():
            _download(location, folder, names, copies)
    return folder


def _download(location: Location, folder: Path, names: Collection[str], copies: Path) -> None:
    """Copy files into a folder that appears when all are there.

    Args:
        location: of the files.
        folder: in that of the copies.
        names: of the files.
        copies: the folder of the copies, beside which the files wait.
    """
    with temporary_beside(copies, folder=True) as copy:
        location.download(copy, names)
        folder.parent.mkdir(parents=True, exist_ok=True)
        copy.rename(folder)


def _index_copy(location: Location, shards: Collection[int] | None) -> Path:
    """The copy of an index, with its current version; whoever opens it compares its files with their SHA-256."""
    root = copies_of(location)
    text = (location.read(CURRENT) or b"").decode("utf-8", errors="replace")
    version = text.partition("\n")[0].strip()
    if not version.isdigit():
        raise InputError(f"{CURRENT} names no version", where=location.uri)
    remote, local = location / VERSIONS / version, root / VERSIONS / version
    with locked(root.with_suffix(".lock"), wait=True):
        names = list(remote.files_below())
        if local.is_dir() and remote.read(MANIFEST) != Location.of(local).read(MANIFEST):
            # The index was removed and built again: its versions are numbered from the beginning.
            shutil.rmtree(local)
        if not local.is_dir():
            _download(remote, local, [name for name in names if not name.startswith(f"{SHARDS}/")], root)
        numbers = {name.split("/")[1] for name in names if name.startswith(f"{SHARDS}/")}
        for number in sorted(numbers):
            if (shards is None or int(number) in shards) and not (local / SHARDS / number).is_dir():
                inside = f"{SHARDS}/{number}/"
                part = [name.removeprefix(inside) for name in names if name.startswith(inside)]
                _download(remote / SHARDS / number, local / SHARDS / number, part, root)
        (root / CURRENT).write_text(text, encoding="utf-8")
    return root


def _upload_index(path: Path, location: Location, copied: Collection[str], current: bytes | None) -> None:
    """Copy the new versions of an index to a location, and then the file that names the current one.

    Args:
        path: the index folder.
        location: its place.
        copied: versions in the folder that were copied from there.
        current: what named the current version there when they were copied; None: nothing did.

    Raises:
        BusyError: another process has made a version meanwhile, of the same number.
    """
    if location.read(CURRENT) != current:
        raise BusyError(
            "another process has made another version current meanwhile, so nothing was uploaded",
            where=location.uri,
            hint="run the same command again",
        )
    for version in sorted({*VersionedFolder(path).names()} - {*copied}):
        to = location / VERSIONS / version
        # What has this number and is not current may be of an upload that was ended, or of a version that was left.
        to.clear()
        upload_tree(path / VERSIONS / version, to)
    location.write(CURRENT, (path / CURRENT).read_text(encoding="utf-8"))


def _upload(path: Path, location: Location) -> None:
    """Copy a file or folder to a location, what makes it complete last."""
    if path.is_file():
        location.parent.upload(path.parent, [path.name])
    elif (path / MANIFEST).is_file():
        # While it is there, what is there without a manifest is the part of an upload, which another one may replace.
        location.parent.write(_mark(location), "")
        location.put(path)
        location.parent.remove(_mark(location))
    elif path.is_dir():
        upload_tree(path, location)


def _mark(location: Location) -> str:
    """The name of a file beside an artifact that is there while the artifact is uploaded."""
    return f".{location.name}.upload"


def upload_tree(folder: Path, location: Location) -> None:
    """Copy all files of a folder, those of inner folders first, and manifests last."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    kept = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    location.upload(folder, sorted(kept, key=lambda name: (name.endswith(MANIFEST), -name.count("/"), name)))

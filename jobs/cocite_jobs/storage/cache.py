"""Local copies of artifacts that are stored elsewhere, and where they were copied from."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite.corpus.store import BODY_FILES, KIND
from cocite.errors import IntegrityError, NotFoundError
from cocite.locks import locked
from cocite.manifests import MANIFEST, RESTORE, read_manifest
from cocite.retrieval.index.stored_corpus import bodiless_files, bodiless_text
from cocite.temporary import temporary_beside
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.use_marks import hold


def cache_folder() -> Path:
    """The folder of the local copies: ``COCITE_CACHE``, or a folder of the user's among the temporary files."""
    from_environment = os.environ.get("COCITE_CACHE")
    if from_environment:
        return Path(from_environment)
    # One folder for each user: another's could not be written, and should not be trusted.
    return Path(tempfile.gettempdir()) / f"cocite-cache-{os.getuid()}"


def cache_key(location: Location) -> str:
    """A file name for what belongs to a location elsewhere: 16 hexadecimal digits of its URI's SHA-256.

    Example:
        >>> len(cache_key(Location.of("model")))
        16
    """
    return hashlib.sha256(location.uri.encode()).hexdigest()[:16]


def copies_of(location: Location) -> Path:
    """The folder of the copies of what is at a location elsewhere; it is made, and knows the location's URI.

    Until this process ends it is in use, so that ``cocite cache remove`` leaves it.
    """
    folder = cache_folder() / cache_key(location)
    hold(mark_of(folder))
    folder.mkdir(exist_ok=True)
    if not source_file(folder).is_file():
        write_atomic(source_file(folder), location.uri)
    return folder


def mark_of(folder: Path) -> Path:
    """The file that marks a folder of copies as in use, see :mod:`cocite_jobs.storage.use_marks`."""
    return folder.with_suffix(".used")


def source_file(folder: Path) -> Path:
    """The file that holds the URI of what is in a folder of copies."""
    return folder.with_suffix(".source")


def source_of(copy: Path) -> str | None:
    """The URI that a local path is a copy of, of what :func:`fetch_local` and ``transfer.fetch`` copied.

    Workers elsewhere copy from it too, whereas they do not see this machine's cache.

    Args:
        copy: a file or folder.

    Returns:
        The URI; None: it is no copy.

    Example:
        >>> source_of(Path("/data/corpus")) is None
        True
    """
    try:
        key, *inner = copy.relative_to(cache_folder()).parts
        uri = source_file(cache_folder() / key).read_text(encoding="utf-8")
    except (ValueError, FileNotFoundError):
        return None
    # A folder named by the state or the manifest's digest of what was copied stands between the two.
    if inner and _is_digest(inner[0]):
        inner = inner[1:]
    location = Location.of(uri)
    for name in inner:
        location /= name
    return location.uri


def _is_digest(name: str) -> bool:
    """Whether a folder of the copies is named by the state or the manifest's digest of what was copied."""
    return re.fullmatch("[0-9a-f]{16}", name) is not None


def fetch_local(source: str | Path) -> Path:
    """A local folder with the content of an artifact, or of a folder of artifacts; a remote one is copied once.

    Of the processes of one machine the first copies and the others wait for it. A model folder that does not exist is
    treated as an empty one.

    Args:
        source: a path, which is returned as it is, or a URI.

    Raises:
        CociteError: the URI's file system does not answer, or a copied artifact is damaged.

    Example:
        >>> fetch_local("file:///data/corpus").as_posix()
        '/data/corpus'
    """
    location = Location.of(source)
    if location.local is not None:
        return location.local
    folder = copies_of(location)
    names = location.names()
    with locked(folder.with_suffix(".lock"), wait=True):
        if MANIFEST in names:
            return _copy_artifact(location, folder, _folder_name(location.read(MANIFEST) or b""))
        there = [name for name in names if name[0] != "." and MANIFEST in (location / name).names()]
        for name in there:
            _copy_artifact(location / name, folder, name)
        for copy in folder.iterdir():  # what was removed there is no longer of the folder here
            if copy.name not in there and not _is_digest(copy.name) and (copy / MANIFEST).is_file():
                shutil.rmtree(copy)
    return folder


def fetch_bodiless(source: str | Path) -> Path:
    """A local store with the content of a corpus but its body sentences, nine tenths of the bytes of full texts.

    Args:
        source: a path, which is returned as it is, or the URI of a store. What was copied whole is not copied again.

    Raises:
        NotFoundError: there is no artifact.
        IntegrityError: a file of it is damaged or missing.
        CociteError: it is no corpus, or the URI's file system does not answer.
    """
    location = Location.of(source)
    if location.local is not None:
        return location.local
    folder = copies_of(location)
    with locked(folder.with_suffix(".lock"), wait=True):
        text = location.read(MANIFEST)
        if text is None:
            raise NotFoundError(f"holds no {MANIFEST}", where=location.uri)
        whole, bodiless = folder / _folder_name(text), folder / _folder_name(text + b"without bodies")
        if (whole / MANIFEST).is_file():
            return whole
        if (bodiless / MANIFEST).is_file():
            return bodiless
        with temporary_beside(folder, folder=True) as copy:
            (copy / MANIFEST).write_bytes(text)
            manifest = read_manifest(copy, kind=KIND)
            if not manifest.files.keys() & set(BODY_FILES):
                return _copy_artifact(location, folder, whole.name)
            try:
                location.download(copy, bodiless_files(manifest))
            except NotFoundError as error:
                raise IntegrityError("the file is missing", where=error.where, hint=RESTORE) from error
            write_atomic(copy / MANIFEST, bodiless_text(manifest))
            location.verified(copy)
            copy.rename(bodiless)
        return bodiless


def _folder_name(manifest: bytes) -> str:
    """The folder of the copy of an artifact with a manifest.

    An artifact never changes. One that replaces it gets another folder, so that a process that has the old copy open
    can read on.
    """
    return hashlib.sha256(manifest).hexdigest()[:16]


def _copy_artifact(location: Location, copies: Path, name: str) -> Path:
    """Copy an artifact into a folder of the copies, unless it has the same manifest already; returns the folder."""
    folder = copies / name
    manifest = folder / MANIFEST
    if not manifest.is_file() or manifest.read_bytes() != location.read(MANIFEST):
        # Beside the copies, so that the verified one can be renamed into its place; a download that was killed leaves
        # its own behind, which the next one removes.
        with temporary_beside(copies, folder=True) as copy:
            location.get(copy)
            shutil.rmtree(folder, ignore_errors=True)
            copy.rename(folder)
    return folder

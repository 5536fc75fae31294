"""What workers of a step read and write: folders that every machine sees, and files that prove they are undamaged."""

from __future__ import annotations

import hashlib
import io
import socket
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import sha256
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite_jobs.storage.cache import fetch_bodiless, fetch_local, source_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch


def fetch_seen(source: str) -> Path:
    """A folder that the step's command named, as this worker sees it; one elsewhere is copied.

    Raises:
        NotFoundError: this machine does not see it.
    """
    return _seen(fetch_local(source), source)


def fetch_seen_index(source: str) -> Path:
    """An index folder that the step's command named, as this worker sees it; one elsewhere is copied, with its shards.

    Raises:
        NotFoundError: this machine does not see it, or it is not there.
    """
    return _seen(fetch(source), source)


def _seen(folder: Path, source: str) -> Path:
    if not folder.is_dir():
        raise _unseen("folder", source)
    return folder


def _unseen(what: str, source: str) -> NotFoundError:
    return NotFoundError(
        f"{socket.gethostname()}, which makes a part, sees no such {what}",
        where=source,
        hint="put it where every machine sees it under the same path, or give a URI",
    )


def fetch_seen_file(source: str, digest: str, what: str) -> Path:
    """A file that the step's command read, as this worker sees it; one elsewhere is copied.

    Args:
        source: its path or URI.
        digest: its SHA-256, as the command read it.
        what: the file, in words.

    Raises:
        NotFoundError: this machine does not see it.
        InputError: it sees another one.
    """
    path = fetch(source)
    if not path.is_file():
        raise _unseen("file", source)
    require_seen(sha256(path) == digest, what, source)
    return path


def place_of(path: Path) -> str:
    """What a path is called for workers of other machines: the URI where it is a copy, else itself, absolute.

    Example:
        >>> place_of(Path("/data/corpus"))
        '/data/corpus'
    """
    return source_of(path) or Location.of(path).uri


def require_seen(same: bool, what: str, where: str) -> None:
    """Refuse to make a part of other inputs than those that the command opened.

    Raises:
        InputError: they are others.

    Example:
        >>> require_seen(True, "corpus", "/data/corpus")
    """
    if not same:
        raise InputError(
            f"{socket.gethostname()} sees another {what} here than the command",
            where=where,
            hint="give paths that are the same for all machines, or URIs",
        )


def open_seen(corpus: str, version: str, *, bodies: bool = True) -> Corpus:
    """A corpus that the command opened, as this worker sees it.

    Args:
        corpus: a store, by its path or URI.
        version: of the store.
        bodies: whether body sentences are read, and so copied from elsewhere.

    Raises:
        CociteError: this machine does not see it, or sees one of another version.
    """
    opened = Corpus.open(fetch_seen(corpus) if bodies else _seen(fetch_bodiless(corpus), corpus))
    require_seen(opened.version == version, "corpus", corpus)
    return opened


def write_file(to: Location, name: str, content: bytes) -> dict[str, Any]:
    """Write a part's file; returns its entry, by which :func:`read_file` knows it again.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     entry = write_file(Location.of(folder), "000000.npy", b"rows")
        ...     read_file(Location.of(folder), entry)
        b'rows'
    """
    to.write(name, content)
    return {"file": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def read_file(of: Location, entry: dict[str, Any]) -> bytes:
    """The content of a part's file.

    Raises:
        IntegrityError: it is missing or damaged.
    """
    content = of.read(entry["file"])
    if content is None or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise IntegrityError(
            "is missing or damaged",
            where=(of / entry["file"]).uri,
            hint=f"remove the folder {of.uri}: its parts are made again",
        )
    return content


def read_array(of: Location, entry: dict[str, Any]) -> NDArray[Any]:
    """The array of a part's ``.npy`` file.

    Raises:
        IntegrityError: as of :func:`read_file`.
    """
    array: NDArray[Any] = np.load(io.BytesIO(read_file(of, entry)), allow_pickle=False)
    return array


def read_arrays(of: Location, entry: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of a part's ``.npz`` file, by their names.

    Raises:
        IntegrityError: as of :func:`read_file`.
    """
    with np.load(io.BytesIO(read_file(of, entry)), allow_pickle=False) as file:
        return dict(file)

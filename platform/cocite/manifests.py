"""Manifests: the content of an artifact's ``manifest.json``, and whether it is undamaged."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError

MANIFEST = "manifest.json"
FORMAT = 1
RESTORE = "restore it or build it again"
_ENTRIES = {"format", "kind", "meta", "files"}


@dataclass(frozen=True)
class Manifest:
    """The content of an artifact's ``manifest.json``.

    Attributes:
        kind: of the artifact, such as ``corpus``.
        meta: its description.
        files: path in the folder -> ``bytes`` and ``sha256``.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> manifest = starter_corpus().manifest
        >>> manifest.kind, manifest.meta["counts"]["papers"]
        ('corpus', 423)
        >>> sorted(manifest.files["ids.npy"]), manifest.size > 100_000
        (['bytes', 'sha256'], True)
    """

    kind: str
    meta: dict[str, Any]
    files: dict[str, dict[str, Any]]

    @property
    def size(self) -> int:
        """Bytes of all files but the manifest itself."""
        return sum(entry["bytes"] for entry in self.files.values())

    @property
    def digest(self) -> str:
        """A short fingerprint of the folder's content: 16 hexadecimal digits."""
        text = json.dumps(
            {"kind": self.kind, "files": {name: entry["sha256"] for name, entry in self.files.items()}},
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def manifest_text(kind: str, meta: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a manifest, with the SHA-256 of its content."""
    # As it will be read again: JSON has no tuples, and all its keys are strings.
    content: dict[str, Any] = json.loads(
        json.dumps({"format": FORMAT, "kind": kind, "meta": meta, "files": files}, sort_keys=True)
    )
    return json.dumps(content | {"sha256": _content_digest(content)}, indent=1, sort_keys=True) + "\n"


def _content_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest's content, whatever its layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path, *, kind: str | None = None, name: str = MANIFEST) -> Manifest:
    """The manifest of an artifact; raises when it is missing, damaged, or of another kind.

    The sizes and digests in it are not compared with the files: :mod:`cocite.verification` does that.

    Args:
        folder: the artifact.
        kind: what it must be; None: anything.
        name: of the manifest's file, where the artifact is a part of a larger one.
    """
    folder = Path(folder)
    where = str(folder / name)
    try:
        if not folder.is_dir():
            raise NotFoundError("no such folder", where=str(folder))
        if not (folder / name).exists():
            raise NotFoundError(
                f"holds no {name}, so it is not a cocite artifact",
                where=str(folder),
                hint=f"name the folder of a {kind}" if kind else "",
            )
    except OSError as error:
        raise read_error(error, folder / name, "not a manifest") from error
    data = read_json(folder / name)
    if not isinstance(data, dict) or "format" not in data:
        raise IntegrityError("is not the manifest of an artifact: it names no format", where=where)
    content = {key: value for key, value in data.items() if key != "sha256"}
    # An earlier cocite wrote these four alone.
    whole = data["sha256"] == _content_digest(content) if "sha256" in data else content.keys() <= _ENTRIES
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
    """Whether a folder is an artifact of a kind whose ``meta`` has these entries and perhaps more."""
    try:
        known = read_manifest(folder, kind=kind).meta
    except CociteError:
        return False
    return all(known.get(name) == value for name, value in meta.items())


def _entries(files: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The manifest's files, checked: each has a size and a digest, and none lies outside the folder."""
    for name, entry in files.items():
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise ValueError(f"{name!r} is not a path inside the folder")
        if not isinstance(entry["bytes"], int) or not isinstance(entry["sha256"], str):
            raise TypeError(f"{name!r} has no valid size and SHA-256")
    return files


def read_json(path: Path) -> Any:
    """Parse a JSON file; a damaged one is an :class:`IntegrityError` that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise read_error(error, path, "not valid JSON", RESTORE) from error


def read_error(error: Exception, path: Path, message: str, hint: str | None = None) -> CociteError:
    """The error to raise for a file of an artifact that could not be read.

    Args:
        error: what the library or the system raised.
        path: the file.
        message: what is wrong if the content is bad.
        hint: what to do then.

    Returns:
        An :class:`IntegrityError` where the file is missing or its content is bad; the system's own message where the
        file cannot be read at all (no permission, a failing disk), for then nothing is known of the content.
    """
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
        return CociteError(f"cannot be read: {os.strerror(error.errno)}", where=str(error.filename or path))
    return IntegrityError(f"{message}: {error}", where=str(path), hint=hint)

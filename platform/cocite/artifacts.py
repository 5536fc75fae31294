"""Artifacts: folders that appear whole or not at all, and that can prove they are undamaged.

An artifact is a folder with a ``manifest.json`` that holds its kind, its free-form description and the
size and SHA-256 of every other file. It is written beside its destination, synced to disk, and renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.errors import InputError, IntegrityError, NotFoundError

MANIFEST = "manifest.json"
FORMAT = 1


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


def write_atomic(path: Path, text: str) -> None:
    """Replace a file's content so that a reader sees the old text or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """Parse a JSON file; a damaged one is an :class:`IntegrityError` that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise IntegrityError(f"not valid JSON: {error}", where=str(path)) from error


@contextmanager
def publish(destination: Path, *, kind: str, meta: dict[str, Any], replace: bool = False) -> Iterator[Path]:
    """Write an artifact: yields a temporary folder to fill, then seals and renames it to ``destination``.

    If the body raises, nothing appears at ``destination`` and the temporary folder is removed. ``meta`` is read
    when the body ends, so the body may still fill it. With ``replace`` an existing artifact stays readable
    until the new one is complete.
    """
    destination = Path(destination)
    if destination.exists() and not replace:
        raise InputError("already exists", where=str(destination), hint="choose another folder or pass --replace")
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = destination.with_name(f".{destination.name}.{uuid.uuid4().hex[:8]}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        seal(temporary, kind=kind, meta=meta)
        if destination.exists():
            old = destination.with_name(f".{destination.name}.{uuid.uuid4().hex[:8]}.old")
            destination.rename(old)
            temporary.rename(destination)
            shutil.rmtree(old)
        else:
            temporary.rename(destination)
        _sync(destination.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def seal(folder: Path, *, kind: str, meta: dict[str, Any]) -> Manifest:
    """Write the manifest of a finished folder and sync every file of it to disk."""
    files = {}
    for path in _members(folder):
        _sync(path)
        files[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    manifest = {"format": FORMAT, "kind": kind, "meta": meta, "files": files}
    write_atomic(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    _sync(folder)
    return Manifest(kind, meta, files)


def read_manifest(folder: Path, *, kind: str | None = None) -> Manifest:
    """The manifest of an artifact; raises when it is missing, damaged, or of another kind."""
    folder = Path(folder)
    if not folder.is_dir():
        raise NotFoundError("no such folder", where=str(folder))
    if not (folder / MANIFEST).exists():
        raise NotFoundError(f"holds no {MANIFEST}, so it is not a cocite artifact", where=str(folder))
    data = read_json(folder / MANIFEST)
    try:
        manifest = Manifest(data["kind"], data["meta"], data["files"])
        format_ = data["format"]
    except (KeyError, TypeError) as error:
        raise IntegrityError(f"the manifest lacks {error}", where=str(folder / MANIFEST)) from error
    if format_ != FORMAT:
        raise InputError(f"format {format_} is not the format {FORMAT} this version reads", where=str(folder))
    if kind is not None and manifest.kind != kind:
        raise InputError(f"is a {manifest.kind}, not a {kind}", where=str(folder))
    return manifest


def verify(folder: Path, *, kind: str | None = None) -> Manifest:
    """Check every file against the manifest; the first damaged, missing or foreign one is named."""
    folder = Path(folder)
    manifest = read_manifest(folder, kind=kind)
    for name, entry in sorted(manifest.files.items()):
        path = folder / name
        if not path.is_file():
            raise IntegrityError("the file is missing", where=str(path), hint="restore it or build it again")
        size = path.stat().st_size
        if size != entry["bytes"]:
            raise IntegrityError(
                f"damaged: {size} bytes where the manifest says {entry['bytes']}",
                where=str(path),
                hint="restore it or build it again",
            )
        if sha256(path) != entry["sha256"]:
            raise IntegrityError(
                "damaged: its SHA-256 is not the manifest's", where=str(path), hint="restore it or build it again"
            )
    return manifest


def _members(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

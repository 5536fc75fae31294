"""Artifacts are checked when they are used: each file is compared with the size and SHA-256 that the manifest gives.

Parts of a model are small, and every process that loads one checks all of it (:func:`open_verified`). A corpus or an
index may be large: all of it is checked when it is first opened on a machine, and again when one of its files has
changed (:func:`open_verified_once`). ``$XDG_CACHE_HOME/cocite/verified`` has one small file for each artifact that was
undamaged: a digest of the manifest and of every file's inode, size and times of change. A process that writes to a
file changes those, but a disk that loses a bit does not: ``cocite corpus verify``, ``index verify`` and
``model verify`` always read every byte.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from cocite.artifacts import check_sizes, compare, verify
from cocite.atomic_files import write_atomic
from cocite.errors import CociteError
from cocite.manifests import MANIFEST, Manifest, read_manifest

SWITCH = "COCITE_VERIFY"
"""Environment variable: ``0`` turns :func:`open_verified_once` off in this process and in those that it starts."""
SETTLED_NS = 2_000_000_000
"""A file that was changed less than so long ago could change again and keep its time of change, because file systems
count time in steps of up to two seconds. Such an artifact is checked again the next time."""
LARGE = 4 * 2**30
"""Bytes from which a check is announced: it takes seconds."""
LOG = logging.getLogger("cocite")


class _Fingerprints(Protocol):
    """Fingerprints of undamaged artifacts by folder."""

    def get(self, folder: str, /) -> str | None: ...

    def __setitem__(self, folder: str, fingerprint: str, /) -> None: ...


class _StampFiles:
    """Fingerprints that all processes of a user share; where they cannot be written, each process checks for itself."""

    def get(self, folder: str) -> str | None:
        try:
            return _stamp(folder).read_text(encoding="ascii").strip()
        except (OSError, RuntimeError, UnicodeDecodeError):
            return None

    def __setitem__(self, folder: str, fingerprint: str) -> None:
        try:
            path = _stamp(folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, fingerprint + "\n")
        except (OSError, CociteError, RuntimeError):  # no folder that can be written, or no home
            pass


_IN_PROCESS: dict[str, str] = {}


def open_verified(folder: Path, *, kind: str | None = None) -> Manifest:
    """The manifest of a small artifact whose files are undamaged; all are read, once a process while none changes.

    Raises:
        IntegrityError: a file is damaged, missing, or not named by the manifest.
        CociteError: there is no such artifact, or the system does not let a file be read.
    """
    return _open(Path(folder), kind, _IN_PROCESS, foreign=True)


def open_verified_once(folder: Path, *, kind: str | None = None, without: str | None = None) -> Manifest:
    """The manifest of a large artifact whose files are undamaged; all are read, once a machine while none changes.

    Files that the manifest does not name are ignored, and so is the subfolder ``without``, which other machines hold.
    With ``COCITE_VERIFY=0`` in the environment the files are checked for presence and size alone.

    Raises:
        IntegrityError: a file is damaged or missing.
        CociteError: there is no such artifact, or the system does not let a file be read.
    """
    return _open(Path(folder), kind, _StampFiles(), foreign=False, without=without)


def verify_now(folder: Path, *, kind: str | None = None) -> Manifest:
    """Compare every file with its SHA-256, also where that was done before.

    The next :func:`open_verified_once` reads no file.

    Raises:
        IntegrityError: a file is damaged, missing, or not named by the manifest.
        CociteError: there is no such artifact, or the system does not let a file be read.
    """
    return _open(Path(folder), kind, _StampFiles(), foreign=True, trust=False)


def switch_off() -> None:
    """Let :func:`open_verified_once` check presence and size alone, in this process and in those that it starts."""
    os.environ[SWITCH] = "0"


def is_switched_off() -> bool:
    """Whether :func:`open_verified_once` checks presence and size alone."""
    return os.environ.get(SWITCH) == "0"


def _open(
    folder: Path,
    kind: str | None,
    verified: _Fingerprints,
    *,
    foreign: bool,
    trust: bool = True,
    without: str | None = None,
) -> Manifest:
    now = time.time_ns()
    whole = checked = read_manifest(folder, kind=kind)
    key = str(folder.resolve())
    if without is not None:
        kept = {name: entry for name, entry in whole.files.items() if not name.startswith(f"{without}/")}
        checked, key = replace(whole, files=kept), f"{key} without {without}"
    fingerprint, youngest = _fingerprint(folder, checked)
    switched_off = not foreign and is_switched_off()
    if trust and (switched_off or verified.get(key) == fingerprint):
        return whole
    if checked.size >= LARGE:
        LOG.warning("%s: comparing %.1f GB with their SHA-256", folder, checked.size / 1e9)
    if without is None:
        verify(folder, kind=kind, foreign=foreign)
    else:
        compare(folder, checked)
    if youngest < now - SETTLED_NS and _fingerprint(folder, checked)[0] == fingerprint:
        verified[key] = fingerprint
    return whole


def _fingerprint(folder: Path, manifest: Manifest) -> tuple[str, int]:
    """A digest of manifest, inodes, sizes and times of change, and the latest of the times in nanoseconds."""
    states = {**check_sizes(folder, manifest), MANIFEST: (folder / MANIFEST).stat()}
    lines = [manifest.digest]
    lines += [
        f"{name} {s.st_dev} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}"
        for name, s in states.items()
    ]
    youngest = max(max(state.st_mtime_ns, state.st_ctime_ns) for state in states.values())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), youngest


def cache_folder() -> Path:
    """The folder of files of a user that can be made again: ``$XDG_CACHE_HOME/cocite``, or ``~/.cache/cocite``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cocite"


def _stamp(folder: str) -> Path:
    return (
        cache_folder()
        / "verified"
        / hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    )

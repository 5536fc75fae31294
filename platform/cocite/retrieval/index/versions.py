"""Versions of an index in one folder: one is current, old ones stay while someone reads them.

::

    INDEX/CURRENT             names the current version, and below it a check of the name; replaced atomically
    INDEX/versions/000001/    an artifact, never changed once it is there
    INDEX/locks/000001        held shared by every reader of that version
    INDEX/locks/writer        held by whoever makes a version

Locks are ``flock``: they end with their process, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite.errors import InputError, IntegrityError, NotFoundError, nearest
from cocite.locks import locked
from cocite.manifests import read_error

KEEP = 2
"""Versions that stay when a new one is made: the new one and the one before it."""


class Pin:
    """Keeps a version from being deleted, until it is released or the object is gone."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Let the version go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        self.release()


class Versions:
    """The versions in an index folder."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def names(self) -> list[str]:
        """All complete versions, oldest first."""
        folder = self.root / "versions"
        return sorted(p.name for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []

    def folder(self, version: str) -> Path:
        """Where a version lies."""
        return self.root / "versions" / version

    def current(self) -> str:
        """The current version; raises when the folder holds no index."""
        path = self.root / "CURRENT"
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFoundError(
                "holds no index", where=str(self.root), hint="make one with `cocite index build`"
            ) from error
        except OSError as error:
            raise read_error(error, path, "names no version") from error
        version = text.strip()
        if version.isdigit() and version.isascii():
            return version  # an earlier cocite wrote the name alone
        version = text.partition("\n")[0]
        if text != _current(version):
            names = ", ".join(self.names()) or "none is there"
            raise IntegrityError(
                f"damaged: {text[:40]!r} names no version",
                where=str(path),
                hint=f"write the name of one into it: {names}",
            )
        return version

    def pin(self, version: str | None = None) -> tuple[str, Pin]:
        """Choose a version, the current one by default, and keep it from being deleted."""
        if version is not None and not version.isdigit():
            raise self._unknown(version)
        for _ in range(10):
            wanted = version or self.current()
            pin = Pin(self._shared(wanted))
            if self.folder(wanted).is_dir():
                return wanted, pin
            pin.release()
            # Between reading CURRENT and taking the lock a newer version may have come and this one gone.
            if version is not None or self.current() == wanted:
                break
        if version is not None:
            raise self._unknown(version)
        raise IntegrityError(
            f"the current version {wanted} is missing", where=str(self.root), hint="build the index again"
        )

    def _unknown(self, version: str) -> NotFoundError:
        hint = nearest(version, self.names()) if self.names() else None
        return NotFoundError(f"no version {version!r}", where=str(self.root), hint=hint)

    def _shared(self, version: str) -> int | None:
        path = self.root / "locks" / version
        try:
            path.parent.mkdir(exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT):
                return None  # A read-only index has no writer that could delete.
            raise
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return descriptor

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Be the only writer; yields the name of the version to make. What a killed writer left is removed."""
        (self.root / "locks").mkdir(parents=True, exist_ok=True)
        (self.root / "versions").mkdir(exist_ok=True)
        with locked(self.root / "locks" / "writer", folder=self.root):
            for stale in (self.root / "versions").glob(".*"):
                shutil.rmtree(stale, ignore_errors=True)
            names = self.names()
            yield f"{int(names[-1]) + 1 if names else 1:06d}"

    def publish(self, version: str) -> None:
        """Make a complete version the current one."""
        if not self.folder(version).is_dir():
            raise InputError(f"no version {version!r}", where=str(self.root))
        write_atomic(self.root / "CURRENT", _current(version))

    def collect(self, keep: int = KEEP) -> list[str]:
        """Delete all but the last ``keep`` versions, the current one and those in use; returns the deleted."""
        names, current = self.names(), self.current()
        old = names[: max(len(names) - max(keep, 1), 0)]
        return [version for version in old if version != current and self._delete(version)]

    def _delete(self, version: str) -> bool:
        path = self.root / "locks" / version
        with path.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            # Out of sight in one step; whoever comes for it now finds nothing rather than a part.
            doomed = self.folder(version).with_name(f".{version}.deleted")
            self.folder(version).rename(doomed)
            shutil.rmtree(doomed)
            path.unlink(missing_ok=True)
        return True


def _current(version: str) -> str:
    """The text of ``CURRENT``: one flipped bit in the name alone could name another version that is there."""
    return f"{version}\n{hashlib.sha256(version.encode()).hexdigest()[:16]}\n"

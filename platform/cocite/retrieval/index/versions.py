"""Versions of an index in one folder: one is current, old ones stay while a process reads them.

::

    INDEX/CURRENT             names the current version, and below it a check of the name; replaced atomically
    INDEX/versions/000001/    an artifact, never changed once it is there
    INDEX/locks/000001        held shared by every reader of that version
    INDEX/locks/writer        held by the process that makes a version

Locks are ``flock``: the kernel releases them when their process ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite.errors import InputError, IntegrityError, NotFoundError, nearest
from cocite.locks import locked
from cocite.manifests import read_error

KEEP = 2
"""Versions that stay when a new one is made: the new one and the one before it."""


class VersionLock:
    """A shared lock on a version: no process deletes it until the lock is released or garbage-collected.

    Args:
        descriptor: of the locked file; None where the folder is read-only, so that no process could delete anything.

    Example:
        >>> lock = VersionLock(None)
        >>> lock.release()
    """

    def __init__(self, descriptor: int | None) -> None:
        # Unlike __del__, a finalizer runs before the interpreter has taken its modules apart.
        self._close = None if descriptor is None else weakref.finalize(self, os.close, descriptor)

    def release(self) -> None:
        """Let others delete the version; a second call does nothing."""
        if self._close is not None:
            self._close()


class VersionedFolder:
    """The versions of an artifact in one folder, of which one is current.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     versions = VersionedFolder(root)
        ...     for _ in range(3):
        ...         with versions.writing() as name:
        ...             versions.folder(name).mkdir()
        ...             versions.publish(name)
        ...     deleted = versions.delete_old(keep=1)
        ...     versions.current(), deleted
        ('000003', ['000001', '000002'])
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def names(self) -> list[str]:
        """All complete versions, oldest first."""
        folder = self.root / "versions"
        return sorted(p.name for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []

    def folder(self, version: str) -> Path:
        """The folder of a version."""
        return self.root / "versions" / version

    def current(self) -> str:
        """The current version.

        Raises:
            NotFoundError: the folder holds no index.
            IntegrityError: ``CURRENT`` is damaged.
        """
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
        if text != current_text(version):
            names = ", ".join(self.names()) or "none is there"
            raise IntegrityError(
                f"damaged: {text[:40]!r} names no version",
                where=str(path),
                hint=f"write the name of one into it: {names}",
            )
        return version

    def lock(self, version: str | None = None) -> tuple[str, VersionLock]:
        """Choose a version, the current one by default, and keep it from being deleted.

        Raises:
            NotFoundError: there is no such version, or no index.
            IntegrityError: ``CURRENT`` is damaged, or names a version that is missing.
        """
        if version is not None and not version.isdigit():
            raise self._unknown(version)
        for _ in range(10):
            name = version or self.current()
            lock = VersionLock(self._lock_shared(name))
            if self.folder(name).is_dir():
                return name, lock
            lock.release()
            # Between reading CURRENT and taking the lock a writer may have deleted this version for a newer one.
            if version is not None or self.current() == name:
                break
        if version is not None:
            raise self._unknown(version)
        raise IntegrityError(
            f"the current version {name} is missing", where=str(self.root), hint="build the index again"
        )

    def _unknown(self, version: str) -> NotFoundError:
        hint = nearest(version, self.names()) if self.names() else None
        return NotFoundError(f"no version {version!r}", where=str(self.root), hint=hint)

    def _lock_shared(self, version: str) -> int | None:
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
        """Be the only writer; yields the name of the version to make. Remains of a killed writer are removed.

        Raises:
            BusyError: another process writes.
        """
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
        write_atomic(self.root / "CURRENT", current_text(version))

    def delete_old(self, keep: int = KEEP) -> list[str]:
        """Delete all but the last ``keep`` versions, the current one and those in use; returns the deleted ones."""
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
            # Renamed in one step: a reader that looks for it now sees no version rather than a part of one.
            hidden = self.folder(version).with_name(f".{version}.deleted")
            self.folder(version).rename(hidden)
            shutil.rmtree(hidden)
            path.unlink(missing_ok=True)
        return True


def current_text(version: str) -> str:
    """The text of ``CURRENT``: one flipped bit in the name alone could name another version that is there."""
    return f"{version}\n{hashlib.sha256(version.encode()).hexdigest()[:16]}\n"

"""The copies in this machine's cache: what they take, when they were last asked for, and their removal."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cocite.errors import NotFoundError, nearest, without_passwords
from cocite.temporary import remove_stale
from cocite_jobs.storage.cache import cache_folder, mark_of, source_file
from cocite_jobs.storage.use_marks import unused


@dataclass(frozen=True)
class CachedCopy:
    """All that was copied from one place: earlier states of it too, and what a killed download has left.

    Attributes:
        source: the URI, without a password. Files are copied from the URI of their folder.
        folder: of the copies.
        bytes: what they take.
        used: when a process last asked for them.
        in_use: whether a process that has asked for them lives.

    Example:
        >>> CachedCopy("s3://bucket/corpus", Path("/cache/12ab"), 10**6, datetime(2026, 11, 28, tzinfo=UTC), False).name
        '12ab'
    """

    source: str
    folder: Path
    bytes: int
    used: datetime
    in_use: bool

    @property
    def name(self) -> str:
        """That of the folder."""
        return self.folder.name


def list_copies() -> list[CachedCopy]:
    """The copies in the cache, those first that nobody has asked for the longest."""
    found = (_copy(path.with_suffix("")) for path in cache_folder().glob("*.source"))
    return sorted((copy for copy in found if copy is not None), key=lambda copy: copy.used)


def named_copies(copies: Sequence[CachedCopy], names: Sequence[str]) -> list[CachedCopy]:
    """Those of some copies that have one of the names, or were copied from one of the URIs.

    Raises:
        NotFoundError: there is no such copy.

    Example:
        >>> copies = [CachedCopy("s3://bucket/corpus", Path("/cache/12ab"), 10, datetime.now(UTC), False)]
        >>> named_copies(copies, ["s3://bucket/corpus/"]) == named_copies(copies, ["12ab"]) == copies
        True
    """
    chosen = []
    for name in names:
        wanted = without_passwords(name.rstrip("/"))
        same = [copy for copy in copies if wanted in (copy.name, copy.source)]
        if not same:
            hint = nearest(wanted, [copy.source for copy in copies])
            raise NotFoundError("nothing was copied from there", where=name, hint=hint)
        chosen += same
    return list(dict.fromkeys(chosen))


def remove_copy(copy: CachedCopy) -> bool:
    """Remove what was copied from one place, unless a process uses it; returns whether it was removed.

    A process that asks for it meanwhile waits, and copies it anew.
    """
    # There is a mark from now on, so that whoever asks for the copy waits; the time of one that was there stays.
    mark_of(copy.folder).open("a").close()
    with unused(mark_of(copy.folder)) as free:
        if not free:
            return False
        # Renamed first: killed amid the removal, this would leave a part that looks like the whole.
        with suppress(FileNotFoundError):
            copy.folder.rename(copy.folder.with_name(f".{copy.name}.{uuid.uuid4().hex[:8]}.tmp"))
        remove_stale(copy.folder)
        source_file(copy.folder).unlink(missing_ok=True)
        mark_of(copy.folder).unlink(missing_ok=True)
    return True


def _copy(folder: Path) -> CachedCopy | None:
    """The copies in a folder; None: another process has removed them meanwhile."""
    try:
        source = source_file(folder).read_text(encoding="utf-8")
        mark = mark_of(folder) if mark_of(folder).exists() else source_file(folder)
        used = datetime.fromtimestamp(mark.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None
    with unused(mark_of(folder)) as free:
        pass
    size = sum(map(_size, (folder, *folder.parent.glob(f".{folder.name}.*.tmp"))))
    return CachedCopy(without_passwords(source), folder, size, used, not free)


def _size(folder: Path) -> int:
    """Bytes of all files of a folder; files that go meanwhile have none."""
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                yield os.lstat(os.path.join(inside, name)).st_size

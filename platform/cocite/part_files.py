"""Where the parts of an import or an index build lie until all is made of them: named folders that appear whole."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from cocite.artifacts import exchange
from cocite.atomic_files import sync
from cocite.temporary import temporary_beside
from cocite.write_errors import writing_to


class PartFiles(Protocol):
    """Folders by name, such as ``counts/papers/0003``, each written by one part and read by others.

    Example:
        >>> def rename(files: PartFiles) -> str:
        ...     return files.read("names").name
    """

    def read(self, name: str) -> Path:
        """A local folder with the content; it is not written to."""
        ...

    def each(self, names: Iterable[str], only: Sequence[str] | None = None) -> Iterator[Path]:
        """Local folders with the content, one after the other: one may be gone when the next is asked for.

        Args:
            names: of the folders.
            only: names of the files that are read, which all of the folders have; None: all.
        """
        ...

    def pieces(self, places: Sequence[tuple[str, int, int]]) -> list[pa.Buffer]:
        """Pieces of files, each by the name of the file, its first byte and the one behind its last."""
        ...

    def write(self, name: str) -> AbstractContextManager[Path]:
        """An empty local folder to fill; when the block ends, its content takes the place of what has the name."""
        ...

    def remove(self, name: str) -> None:
        """Remove all folders whose names begin so; none is no error."""
        ...


@dataclass(frozen=True)
class LocalFiles:
    """The parts in one folder of this machine, or of a file system that all machines see.

    Attributes:
        root: the folder.
        durable: wait until what is written is on disk, so that a part that was recorded outlives a loss of power.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     files = LocalFiles(Path(root))
        ...     with files.write("texts/papers/0000") as folder:
        ...         (folder / "words.txt").touch()
        ...     [path.name for path in files.read("texts/papers/0000").iterdir()]
        ['words.txt']
    """

    root: Path
    durable: bool = False

    def read(self, name: str) -> Path:
        """A folder that was written."""
        return self.root / name

    def each(self, names: Iterable[str], only: Sequence[str] | None = None) -> Iterator[Path]:  # noqa: ARG002 - all are here
        """Folders that were written."""
        return map(self.read, names)

    def pieces(self, places: Sequence[tuple[str, int, int]]) -> list[pa.Buffer]:
        """Pieces of files, mapped."""
        found = []
        for name, start, stop in places:
            with pa.memory_map(str(self.root / name)) as file:
                file.seek(start)
                found.append(file.read_buffer(stop - start))
        return found

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """A folder to fill; if the block raises, nothing changes.

        Raises:
            WriteError: there is no space, or the folder cannot be written to.
        """
        target = self.root / name
        with writing_to(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary_beside(target, folder=True) as temporary, writing_to(target, temporary):
                yield temporary
                if self.durable:
                    for path in (*temporary.rglob("*"), temporary):
                        sync(path)
                try:
                    temporary.rename(target)
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
                    # A part that was lost with its worker is made again, whatever the worker had finished.
                    exchange(temporary, target)
                if self.durable:
                    sync(target.parent)

    def remove(self, name: str) -> None:
        """Remove all folders whose names begin so."""
        shutil.rmtree(self.root / name, ignore_errors=True)

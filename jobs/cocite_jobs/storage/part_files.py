"""Where the parts of a step read and write: a folder that all machines see, or an object store."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from cocite.part_files import LocalFiles, PartFiles
from cocite_jobs.storage.location import CONNECTIONS, Location, translate_errors

AHEAD = 4
"""Folders that are copied while an earlier one is read."""


@dataclass(frozen=True)
class RemoteFiles:
    """Parts in an object store; a :class:`~cocite.part_files.PartFiles`.

    Attributes:
        location: of the parts.
        scratch: a folder of this machine, for what one process reads and writes.

    Example:
        >>> files = RemoteFiles(Location.of("memory://parts"), Path("scratch"))
        >>> with files.write("counts/0003") as folder:
        ...     _ = (folder / "words.txt").write_text("of the")
        >>> files.location.files_below().keys(), files.pieces([("counts/0003/words.txt", 3, 6)])[0].to_pybytes()
        (dict_keys(['counts/0003/words.txt']), b'the')
    """

    location: Location
    scratch: Path

    def place(self, name: str) -> Location:
        """Where a folder is uploaded to."""
        return self.location / name

    def read(self, name: str) -> Path:
        """A copy of a folder that was written; an empty one where there is none."""
        folder = self.scratch / "read" / name
        if not folder.is_dir():
            (self.location / name).download(folder)
        return folder

    def each(self, names: Iterable[str], only: Sequence[str] | None = None) -> Iterator[Path]:
        """Copies of folders, or of some of their files, a few of which are on this machine at a time."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.scratch) as copies, ThreadPoolExecutor(AHEAD) as threads:
            waiting: deque[Future[Path]] = deque()
            for name in names:
                waiting.append(threads.submit((self.location / name).download, Path(copies, name), only))
                if len(waiting) > AHEAD:
                    yield from _received(waiting.popleft())
            while waiting:
                yield from _received(waiting.popleft())

    def pieces(self, places: Sequence[tuple[str, int, int]]) -> list[pa.Buffer]:
        """Pieces of files: nothing else of them is read."""
        of_files = [list(group) for _, group in groupby(places, key=lambda place: place[0])]
        with translate_errors(self.location.uri), ThreadPoolExecutor(CONNECTIONS) as threads:
            return [piece for pieces in threads.map(self._pieces, of_files) for piece in pieces]

    def _pieces(self, places: Sequence[tuple[str, int, int]]) -> list[pa.Buffer]:
        with self.location.files.open_input_file(f"{self.location.path}/{places[0][0]}") as file:
            return [pa.py_buffer(file.read_at(stop - start, start)) for _, start, stop in places]

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """A folder to fill, which is uploaded when the block ends."""
        folder = self.scratch / "written" / name
        folder.mkdir(parents=True)
        yield folder
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        self.place(name).upload(folder, names)
        shutil.rmtree(folder)

    def remove(self, name: str) -> None:
        """Remove all folders whose names begin so."""
        (self.location / name).clear()


def _received(copy: Future[Path]) -> Iterator[Path]:
    """A copy, which is removed when the next is asked for."""
    folder = copy.result()
    yield folder
    shutil.rmtree(folder)


@contextmanager
def part_files(location: Location) -> Iterator[PartFiles]:
    """Where one process reads and writes parts, while the block runs."""
    if location.local is not None:
        yield LocalFiles(location.local)
        return
    with tempfile.TemporaryDirectory(prefix="cocite-parts-") as scratch:
        yield RemoteFiles(location, Path(scratch))

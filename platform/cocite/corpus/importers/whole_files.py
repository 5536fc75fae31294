"""A source whose files are read from the beginning to the end, as their records cannot be found in between."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from cocite.corpus.importers.files import data_files
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.source import Source
from cocite.corpus.records import Record
from cocite.errors import InputError


class WholeFiles(Source):
    """A source of one or several files, each of which is a part.

    Attributes:
        suffixes: what its files are called, for the error where a folder has none.
        files: the files.

    Example:
        >>> from cocite.corpus.records import PaperRecord
        >>> class Titles(WholeFiles):
        ...     suffixes = ".csv"
        ...     def read(self, file):
        ...         yield from (PaperRecord(line, line) for line in file.read_text().split())
        >>> _ = Path("titles.csv").write_text("A B")
        >>> [paper.title for paper in Titles(Path("titles.csv"))]
        ['A', 'B']
    """

    suffixes: str

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.files = self.files_of(path)
        if not self.files:
            raise InputError(f"holds no {self.suffixes} file", where=str(path))
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        yield from self.unread(self.files)
        for file in self.files:
            yield from self.read(file)

    def parts(self, size: int) -> list[SourcePart]:  # noqa: ARG002 a file is a part, whatever its size
        """Whole files."""
        return [SourcePart(number, size=file.stat().st_size) for number, file in enumerate(self.files)]

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of one file."""
        self.done = 0
        if part.is_first:
            yield from self.unread(self.files)
        yield from self.read(self.files[part.file])

    def files_of(self, path: Path) -> list[Path]:
        """The files that are read of a file or folder."""
        return data_files(path)

    def id_of(self, file: Path, suffixes: Sequence[str]) -> str:
        """The name of a file within the folder, for the paper that it holds.

        Args:
            file: one of the source's.
            suffixes: in lower case; each that the name ends with is left out of it, in this order.
        """
        name = file.name
        for suffix in suffixes:
            if name.lower().endswith(suffix):
                name = name[: -len(suffix)]
        return (file.relative_to(self.path).with_name(name) if file != self.path else Path(name)).as_posix()

    @abstractmethod
    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file; it says how far it has come."""

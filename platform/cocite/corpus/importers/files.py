"""Finds the files of a source and opens them, unpacked when they are compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any

from cocite.errors import InputError

SUFFIXES = (".jsonl", ".json", ".ndjson", ".bib")
TABLES = (".ris", ".csv", ".tsv")
"""Suffixes of data where a folder has no file of those above: beside these they are notes or exports of the same."""
MARKUP = (".xml", ".rdf")
"""Suffixes of data where a folder has no file of those above either: XML often describes data of another form."""
DOCUMENTS = (".pdf",)
"""Suffixes of data where a folder has no file of those above: records say more of papers than their PDFs do."""
PACKED = (".gz", ".xz", ".zst", ".bz2")
BUFFER = 1 << 18
"""Bytes read at a time."""
MAX_RATIO = 250
"""Bytes that a byte of a compressed file may unpack to. Records reach 30 or so."""
LARGE = 1 << 28
"""Bytes unpacked before the ratio is looked at."""
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_DESCRIPTIONS = ("README", "LICENSE")
"""Files of a folder that are no data."""


class InputFile(io.BufferedReader):
    """A file's bytes, unpacked when its first bytes are those of gzip, xz, zstd or bzip2.

    Reading raises an :class:`InputError` where a compressed file is damaged or cut short, or unpacks to more than
    ``MAX_RATIO`` times its size.

    Example:
        >>> import gzip
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.files import InputFile
        >>> _ = Path("papers.gz").write_bytes(gzip.compress(b"first\\nsecond\\n"))
        >>> with InputFile(Path("papers.gz")) as file:
        ...     file.readline(), file.bytes_read == Path("papers.gz").stat().st_size
        (b'first\\n', True)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = io.FileIO(path)
        kind = packing(self._file.read(8))
        self._file.seek(0)
        super().__init__(_Unpacked(path, self._file, kind) if kind else self._file, BUFFER)

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far, before they were unpacked."""
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._file.close()


class _Unpacked(io.RawIOBase):
    """The content of a compressed file."""

    def __init__(self, path: Path, file: io.FileIO, kind: str) -> None:
        self.path, self.file, self.kind = path, file, kind
        self.size = 0
        self._stream = _unpacker(io.BufferedReader(file, BUFFER), kind)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Unpack the next bytes; 0 at the end."""
        try:
            count = int(self._stream.readinto(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise InputError(
                f"the {self.kind} file is damaged or cut short: {error}",
                where=str(self.path),
                hint="fetch or pack it again",
            ) from error
        self.size += count
        if self.size > LARGE and self.size > MAX_RATIO * self.file.tell():
            raise InputError(
                f"unpacks to more than {MAX_RATIO} times its size, as no file of records does",
                where=str(self.path),
                hint="unpack it and look at it",
            )
        return count


def packing(head: bytes) -> str:
    """The compression of a file that begins so: gzip, xz, zstd or bzip2; empty when there is none."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def _unpacker(file: io.BufferedReader, kind: str) -> Any:
    if kind == "zstd":
        import pyarrow as pa

        return pa.CompressedInputStream(file, "zstd")
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)
    return lzma.LZMAFile(file) if kind == "xz" else bz2.BZ2File(file)


def bare_name(path: Path) -> str:
    """A file's name in lower case, without the suffix of its compression."""
    return path.stem.lower() if path.suffix.lower() in PACKED else path.name.lower()


def folder_files(folder: Path) -> list[Path]:
    """All files of a folder and its subfolders, in order, but for hidden files and those of hidden subfolders."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(p for p in files if not any(part.startswith(".") for part in p.relative_to(folder).parts))


def data_files(path: Path) -> list[Path]:
    """The files of a source: itself, or those of the folder that are compressed or whose names fit, in order."""
    if not path.is_dir():
        return [path]
    files = folder_files(path)
    data = [p for p in files if bare_name(p).endswith(SUFFIXES) or p.suffix.lower() in PACKED]
    others = ([p for p in files if p.name.lower().endswith(names)] for names in (TABLES, MARKUP, DOCUMENTS))
    return data or next(filter(None, others), [])


def unread_files(path: Path, files: list[Path]) -> list[Path]:
    """The files of a folder that are not among those read, but for READMEs and licences."""
    if not path.is_dir():
        return []
    read = set(files)
    return [p for p in folder_files(path) if p not in read and not p.name.upper().startswith(_DESCRIPTIONS)]

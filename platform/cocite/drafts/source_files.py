"""Where the files of a draft come from: a folder, or memory, of which nothing is written to disk."""

from __future__ import annotations

import codecs
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from cocite.drafts.limits import Budget
from cocite.errors import InputError

EVERY_BYTE = "cocite.every-byte"
"""How errors of an encoding are handled: the five bytes that Windows-1252 does not define are read as control
characters, as browsers read them, and written back. A file in another encoding has such bytes, and keeps them."""


class OutsideError(ValueError):
    """A name leads out of the draft's folder.

    Example:
        >>> MemoryFiles({}).find("../secret.tex")
        Traceback (most recent call last):
        ...
        cocite.drafts.source_files.OutsideError: lies outside the draft's folder
    """

    def __init__(self) -> None:
        super().__init__("lies outside the draft's folder")


class DraftFiles(Protocol):
    """The files that a draft may read, by their names within its folder.

    Example:
        >>> files: DraftFiles = MemoryFiles({"intro.tex": b"We parse."})
        >>> read_utf8(files, "intro.tex", Budget("paper.tex"))
        'We parse.'
    """

    def find(self, name: str) -> str | None:
        """The name of a file as it is kept; None where there is no such file.

        Raises:
            OutsideError: the name leads out of the folder.
        """

    def size(self, name: str) -> int:
        """The bytes of a file that :meth:`find` found, before any of them is read."""

    def data(self, name: str) -> bytes:
        """The content of a file that :meth:`find` found."""


class FolderFiles:
    """The files of a folder; links that lead out of it are not followed.

    Example:
        >>> _ = Path("intro.tex").write_text("We parse.")
        >>> files = FolderFiles(Path())
        >>> files.find("./intro.tex"), files.find("gone.tex"), files.size("intro.tex")
        ('intro.tex', None, 9)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def find(self, name: str) -> str | None:
        """The path of a file, relative to the folder."""
        path = Path(self.folder, name).resolve()
        if not path.is_relative_to(self.folder):
            raise OutsideError
        try:
            return str(path.relative_to(self.folder)) if path.is_file() else None
        except OSError:  # the system has no names so long
            return None

    def size(self, name: str) -> int:
        """The bytes of a file."""
        return (self.folder / name).stat().st_size

    def data(self, name: str) -> bytes:
        """The content of a file."""
        return (self.folder / name).read_bytes()


class MemoryFiles:
    """Files that are in memory, by their paths with ``/``.

    Example:
        >>> files = MemoryFiles({"paper/intro.tex": b"We parse."}).within("paper")
        >>> files.find("./intro.tex"), files.find("gone.tex")
        ('intro.tex', None)
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def within(self, folder: str) -> MemoryFiles:
        """The files of a folder, by their paths from there; "": all."""
        start = f"{folder}/" if folder else ""
        own = {name.removeprefix(start): data for name, data in self.files.items() if name.startswith(start)}
        return MemoryFiles(own)

    def find(self, name: str) -> str | None:
        """The path of a file."""
        path = inner_path(name)
        if path is None:
            raise OutsideError
        return path if path in self.files else None

    def size(self, name: str) -> int:
        """The bytes of a file."""
        return len(self.files[name])

    def data(self, name: str) -> bytes:
        """The content of a file."""
        return self.files[name]


def inner_path(name: str) -> str | None:
    """A path with ``/`` in its shortest form; None where it leads out of the folder that it starts in.

    Example:
        >>> inner_path("./a//b/../c.tex"), inner_path("/etc/passwd"), inner_path("a/../../b")
        ('a/c.tex', None, None)
    """
    path = posixpath.normpath(name)
    return None if path.startswith(("/", "../")) or path == ".." else path


def read_utf8(files: DraftFiles, name: str, budget: Budget) -> str:
    """A file's text; its encoding is that of :func:`encoding_of`.

    Raises:
        InputError: it is too large, or holds null bytes, as no text does.
    """
    size = files.size(name)
    budget.read(size)
    budget.bytes -= size  # counted where the text is kept
    return text_of(files.data(name), name)


def encoding_of(data: bytes) -> str:
    """The encoding of some text: UTF-16 where a mark of it begins the text, UTF-8, else Windows-1252.

    Example:
        >>> encoding_of("né".encode("utf-16")), encoding_of("né".encode()), encoding_of("né".encode("latin-1"))
        ('utf-16', 'utf-8', 'cp1252')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"


def text_of(data: bytes, name: str) -> str:
    """The text of some bytes in the encoding that :func:`encoding_of` finds; ends of lines become newlines.

    Raises:
        InputError: they hold null bytes, as no text does, or are no UTF-16 behind its mark.
    """
    encoding = encoding_of(data)
    if encoding == "utf-16":
        try:
            data = data.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise InputError(
                "is no text: it begins as UTF-16 and does not go on so", where=name, hint="save it as UTF-8"
            ) from error
        encoding = "utf-8"
    if b"\0" in data:
        raise InputError("is no text: it holds null bytes", where=name, hint="name a text file in UTF-8")
    text = data.decode(encoding, EVERY_BYTE)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _undefined(error: UnicodeError) -> tuple[str | bytes, int]:
    """The control characters of undefined bytes, and back; any other character has no byte, and becomes a ``?``."""
    if isinstance(error, UnicodeDecodeError):
        return error.object[error.start : error.end].decode("latin-1"), error.end
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start : error.end].encode("latin-1", "replace"), error.end
    raise error


codecs.register_error(EVERY_BYTE, _undefined)

"""Reads a project from a .zip, such as Overleaf's *Download source*, and packs it again, without unpacking it to disk.

What an archive says of itself decides what is unpacked of it: only files that a draft may read, and no more bytes than
the limits allow. Names that lead out of the archive, links and archives within it are left out.
"""

from __future__ import annotations

import io
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath

from cocite.drafts.limits import MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_REPACKED, MAX_UNPACKED_TEXT
from cocite.drafts.source_files import inner_path
from cocite.errors import InputError

_READ = frozenset(
    {
        ".tex",
        ".ltx",
        ".rnw",
        ".bib",
        ".md",
        ".markdown",
        ".qmd",
        ".rmd",
        ".txt",
        ".text",
        ".bbl",
        ".tikz",
        ".pgf",
    }
)
"""Ends of the names of files that are unpacked; all others, such as pictures, stay packed."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods for which an entry's stated size bounds what is unpacked of it."""


def unpacked(data: bytes, name: str) -> dict[str, bytes]:
    """The text files of an archive, by their paths.

    Args:
        data: the archive.
        name: of the archive, for messages.

    Raises:
        InputError: it is no archive that can be read, is encrypted, or holds more than the limits allow.

    Example:
        >>> buffer = io.BytesIO()
        >>> with zipfile.ZipFile(buffer, "w") as archive:
        ...     archive.writestr("paper/main.tex", "We parse.")
        ...     archive.writestr("../secret.tex", "x")
        ...     archive.writestr("figure.png", b"...")
        >>> unpacked(buffer.getvalue(), "paper.zip")
        {'paper/main.tex': b'We parse.'}
    """
    with _opened(data, name) as archive:
        entries = _chosen(archive, name)
        return {path: _content(archive, entry, name) for path, entry in entries.items()}


def repacked(data: bytes, name: str, files: Mapping[str, bytes]) -> bytes:
    """An archive with other content for some of its files, and with new ones; all else stays.

    Args:
        data: the archive.
        name: of the archive, for messages.
        files: path -> content.

    Raises:
        InputError: it is no archive that can be read, or unpacks to more than the limits allow.

    Example:
        >>> buffer = io.BytesIO()
        >>> with zipfile.ZipFile(buffer, "w") as archive:
        ...     archive.writestr("main.tex", "We parse.")
        ...     archive.writestr("figure.png", b"...")
        >>> data = repacked(buffer.getvalue(), "paper.zip", {"main.tex": b"We parse trees.", "new.bib": b""})
        >>> [entry.filename for entry in zipfile.ZipFile(io.BytesIO(data)).infolist()]
        ['main.tex', 'figure.png', 'new.bib']
    """
    result = io.BytesIO()
    with _opened(data, name) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        every = source.infolist()
        if sum(entry.file_size for entry in every) > MAX_REPACKED:
            raise InputError(
                f"unpacks to more than {MAX_REPACKED >> 20} MiB",
                where=name,
                hint="leave out its pictures, or unpack it, and name its folder",
            )
        own = {entry.header_offset: path for path, entry in _chosen(source, name).items()}
        for entry in every:
            path = own.get(entry.header_offset, "")
            if path not in files and inner_path(entry.filename) in files:
                continue  # it would hide the file that was read, whose path it has
            if path in files or entry.is_dir():
                target.writestr(_like(entry), files.get(path, b""))
                continue
            _copy(source, entry, target, name)
        for path in sorted(files.keys() - own.values()):
            target.writestr(path, files[path])
    return result.getvalue()


def with_parts(data: bytes, name: str, parts: Mapping[str, bytes]) -> bytes:
    """A .docx file with other content for some of its parts; all else stays, and so does the order.

    Args:
        data: the file, which was read, so that it is within the limits.
        name: of the file, for messages.
        parts: name of a part in the archive -> content.

    Raises:
        InputError: it is no archive that can be read, or lacks one of the parts.

    Example:
        >>> buffer = io.BytesIO()
        >>> with zipfile.ZipFile(buffer, "w") as archive:
        ...     archive.writestr("word/document.xml", "<old/>")
        ...     archive.writestr("word/theme.xml", "<theme/>")
        >>> data = with_parts(buffer.getvalue(), "a.docx", {"word/document.xml": b"<new/>"})
        >>> with zipfile.ZipFile(io.BytesIO(data)) as archive:
        ...     [(part, archive.read(part)) for part in archive.namelist()]
        [('word/document.xml', b'<new/>'), ('word/theme.xml', b'<theme/>')]
    """
    result = io.BytesIO()
    with _opened(data, name) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        missing = parts.keys() - set(source.namelist())
        if missing:
            raise InputError(
                f"lacks its part {min(missing)[:100]!r}", where=name, hint="save it anew in Word"
            )
        for entry in source.infolist():
            if source.getinfo(entry.filename) is not entry:
                continue  # an earlier one of the same name, which nobody reads
            if entry.filename in parts:
                target.writestr(_like(entry), parts[entry.filename])
            else:
                _copy(source, entry, target, name)
    return result.getvalue()


def _like(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """What an archive says of a file, but for its content."""
    copy = zipfile.ZipInfo(entry.filename, entry.date_time)
    copy.compress_type, copy.external_attr = entry.compress_type, entry.external_attr
    copy.create_system, copy.comment = entry.create_system, entry.comment
    return copy


def _copy(source: zipfile.ZipFile, entry: zipfile.ZipInfo, target: zipfile.ZipFile, name: str) -> None:
    """Pack a file of an archive into another one; ``name`` is that of the first, for messages."""
    _check_packing(entry, name)
    with _reading(entry, name), source.open(entry) as packed, target.open(_like(entry), "w") as unpacked_to:
        shutil.copyfileobj(packed, unpacked_to)


def _opened(data: bytes, name: str) -> zipfile.ZipFile:
    if len(data) > MAX_ARCHIVE_BYTES:
        raise InputError(
            f"has more than {MAX_ARCHIVE_BYTES >> 20} MiB", where=name, hint="leave out its pictures"
        )
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, OverflowError) as error:
        raise InputError("is no ZIP archive that can be read", where=name, hint="pack it anew") from error


def _chosen(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """The entries to unpack, by their paths; of several with one path the first."""
    every = archive.infolist()
    if len(every) > MAX_ENTRIES:
        raise InputError(
            f"holds {len(every):,} files, more than {MAX_ENTRIES:,}", where=name, hint="pack the draft alone"
        )
    chosen: dict[str, zipfile.ZipInfo] = {}
    size = 0
    for entry in every:
        path = inner_path(entry.filename)
        if path is None or "\\" in path or not _is_read(path) or _is_link(entry) or entry.is_dir():
            continue
        _check_packing(entry, name)
        if path not in chosen:
            chosen[path] = entry
            size += entry.file_size
    if size > MAX_UNPACKED_TEXT:
        raise InputError(
            f"unpacks to more than {MAX_UNPACKED_TEXT >> 20} MiB of text",
            where=name,
            hint="pack the draft alone",
        )
    return chosen


def _is_read(path: str) -> bool:
    pure = PurePosixPath(path)
    # macOS adds a folder of files that only its Finder reads.
    return pure.suffix.lower() in _READ and not pure.name.startswith(".") and pure.parts[0] != "__MACOSX"


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)


def _check_packing(entry: zipfile.ZipInfo, name: str) -> None:
    if entry.flag_bits & 1 or entry.compress_type not in _METHODS:
        raise InputError("is encrypted, or packed in an unusual way", where=name, hint="pack it anew")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes:
    with _reading(entry, name), archive.open(entry) as file:
        return file.read(entry.file_size + 1)


@contextmanager
def _reading(entry: zipfile.ZipInfo, name: str) -> Iterator[None]:
    """Say in a sentence that an entry is damaged."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        # Newlines in an entry's name would break the sentence.
        raise InputError(
            f"holds a damaged file, {entry.filename[:100]!r}", where=name, hint="pack it anew"
        ) from error

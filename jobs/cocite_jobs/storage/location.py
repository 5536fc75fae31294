"""Folders on this machine and elsewhere: the same methods for a path and for a URI (s3://, gs://, any of fsspec's).

An artifact is uploaded with its manifest last: a remote folder without a manifest is an upload that has not ended.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cocite.artifacts import publish, verify
from cocite.atomic_files import replace_file
from cocite.errors import CociteError, InputError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST, Manifest, read_manifest
from cocite.write_errors import writing_to

COPY_BYTES = 4 * 2**20
"""Bytes of a file that are in memory at a time while it is uploaded or downloaded."""
CONNECTIONS = 8
"""Files that are uploaded or downloaded at a time."""
SMALL_FILES = 24
"""Files of less than a request's overhead that are read at a time; pyarrow has 25 connections to S3."""
GCS_SCHEMES = ("gs", "gcs")
"""Of URIs in Google Cloud Storage."""
RETRY_S = 60
"""Seconds for which requests to Google Cloud Storage are repeated, unless the URI's ``retry_limit_seconds`` says
otherwise. Without it pyarrow tries for 15 minutes before it says that an address is wrong or credentials are missing.
"""


@dataclass(frozen=True)
class Location:
    """A folder on this machine or in a remote file system; it need not exist.

    Attributes:
        uri: as the user named it; an absolute path for a folder of this machine.
        path: its path in the file system.
        files: pyarrow's file system; ``None``: this machine's.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = Location.of(folder) / "model"
        ...     model.write("notes.txt", "trained on 2020")
        ...     model.names(), model.read("notes.txt"), model.read("other.txt")
        (['notes.txt'], b'trained on 2020', None)
    """

    uri: str
    path: str
    files: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, text: str | Path) -> Location:
        """A location by its path or URI.

        Raises:
            InputError: no file system is known for the URI's scheme, or its query says what the file system has not.
            CociteError: the file system does not answer.
        """
        text = str(text)
        if "://" not in text or text.startswith("file://"):
            local = str(Path(text.removeprefix("file://")).absolute())
            return cls(local, local)
        import pyarrow as pa
        from pyarrow import fs

        with translate_errors(text):
            try:
                files, path = fs.FileSystem.from_uri(_with_defaults(text))
            except pa.ArrowInvalid as refusal:
                if text.partition("://")[0] in ("s3", *GCS_SCHEMES):
                    line = str(refusal).splitlines()[0]
                    raise InputError(line, where=text, hint="correct the URI") from refusal
                import fsspec  # it is none of pyarrow's own schemes

                try:
                    filesystem, path = fsspec.core.url_to_fs(text)
                except (ValueError, ImportError) as error:
                    raise InputError(
                        str(error), where=text, hint="install the fsspec package for this scheme"
                    ) from error
                files = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
        name, query = _split_query(text, path)
        return cls(name.rstrip("/") + query, path.rstrip("/"), files)

    @property
    def local(self) -> Path | None:
        """Its path, if it is on this machine; ``None``: it is elsewhere."""
        return Path(self.path) if self.files is None else None

    def __truediv__(self, name: str) -> Location:
        uri, query = _split_query(self.uri, self.path) if self.files is not None else (self.uri, "")
        return Location(f"{uri}/{name}{query}", f"{self.path}/{name}", self.files)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The folder that it lies in."""
        if self.files is None:
            return Location.of(Path(self.path).parent)
        uri, query = _split_query(self.uri, self.path)
        return Location(f"{uri.rpartition('/')[0]}{query}", self.path.rpartition("/")[0], self.files)

    # -- files ----------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Names of its files and folders, sorted; none where it does not exist."""
        if self.files is None:
            return sorted(os.listdir(self.path)) if os.path.isdir(self.path) else []
        from pyarrow import fs

        # Of a folder in Google Cloud Storage pyarrow lists the files, and the inner folders that pyarrow has made
        # itself. Those that exist by the names of their files, as other programs upload them, it finds by all files.
        deep = self._is_gcs
        with translate_errors(self.uri):
            infos = self.files.get_file_info(fs.FileSelector(self.path, allow_not_found=True, recursive=deep))
        return sorted({self._below(info.path).partition("/")[0] for info in infos})

    def is_file(self) -> bool:
        """Whether it is a file and no folder."""
        return self.file_state() is not None

    def file_state(self) -> tuple[int, int] | None:
        """Bytes, and nanoseconds since the epoch or 0, of a file; None: it is none."""
        from pyarrow import fs

        files = fs.LocalFileSystem() if self.files is None else self.files
        with translate_errors(self.uri):
            info = files.get_file_info([self.path])[0]
        return (info.size, info.mtime_ns or 0) if info.type == fs.FileType.File else None

    def files_below(self) -> dict[str, tuple[int, int]]:
        """All files in it and its folders, by their relative names: bytes, and nanoseconds since the epoch or 0."""
        from pyarrow import fs

        files = fs.LocalFileSystem() if self.files is None else self.files
        with translate_errors(self.uri):
            infos = files.get_file_info(fs.FileSelector(self.path, recursive=True, allow_not_found=True))
        return {
            self._below(info.path): (info.size, info.mtime_ns or 0)
            for info in infos
            if info.type == fs.FileType.File
        }

    def _below(self, path: str) -> str:
        """The path of something in it, relative to it."""
        return path.removeprefix(self.path).lstrip("/")

    @property
    def _is_gcs(self) -> bool:
        """Whether it lies in Google Cloud Storage."""
        return self.files is not None and self.files.type_name == "gcs"

    def read(self, name: str) -> bytes | None:
        """The content of a file; ``None``: there is no such file."""
        if self.files is None:
            path = Path(self.path, name)
            return path.read_bytes() if path.is_file() else None
        with translate_errors(self.uri):
            try:
                with self._opened(name) as file:
                    return bytes(file.read())
            except FileNotFoundError:
                return None

    def read_each(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents of small files as of :meth:`read`; elsewhere many are asked for at a time."""
        if self.files is None:
            return [self.read(name) for name in names]
        with ThreadPoolExecutor(SMALL_FILES) as threads:
            return list(threads.map(self.read, names))

    def write(self, name: str, content: str | bytes) -> None:
        """Replace a file whose content is in memory. A reader sees the old content or the new, never a part."""
        data = content.encode() if isinstance(content, str) else content
        if self.files is None:
            with writing_to(self.uri):
                Path(self.path).mkdir(parents=True, exist_ok=True)
                with replace_file(Path(self.path, name)) as file:
                    file.write(data)
            return
        with translate_errors(self.uri):
            self._make_folder(self.path)
            with ThreadPoolExecutor(1) as thread:
                thread.submit(self._write, name, data).result()

    def _write(self, name: str, data: bytes) -> None:
        with self._created(name) as file:
            file.write(data)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one of this name."""
        if self.files is None:
            Path(self.path, name).unlink(missing_ok=True)
            return
        with translate_errors(self.uri), suppress(FileNotFoundError):
            self.files.delete_file(f"{self.path}/{name}")

    def clear(self) -> None:
        """Remove the folder and its content, the manifest first, so that no reader takes the rest for an artifact."""
        if self.files is None:
            Path(self.path, MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(self.path, ignore_errors=True)
            return
        self.remove(MANIFEST)
        from pyarrow import fs

        # Of a folder that is not there, some file systems of pyarrow say no more than that something has failed.
        with translate_errors(self.uri), suppress(FileNotFoundError):
            if self.files.get_file_info([self.path])[0].type == fs.FileType.Directory:
                self.files.delete_dir(self.path)

    def upload(self, folder: Path, names: list[str]) -> None:
        """Copy files of a local folder into this one.

        Args:
            folder: the source.
            names: of the files, relative to the source.
        """
        if self.files is None:
            with writing_to(self.uri):
                for name in names:
                    Path(self.path, name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(folder / name, Path(self.path, name))
            return
        with translate_errors(self.uri):
            for parent in sorted({f"{self.path}/{name}".rpartition("/")[0] for name in names}):
                self._make_folder(parent)
            # One after the other, hundreds of small files would wait for as many answers. The last one makes an
            # artifact complete: it is uploaded when the others are there.
            with ThreadPoolExecutor(CONNECTIONS) as threads:
                for part in (names[:-1], names[-1:]):
                    list(threads.map(lambda name: self._upload(folder, name), part))

    def _make_folder(self, path: str) -> None:
        """Make a folder of a remote file system, unless it has none but by the names of files.

        In S3 pyarrow would write an empty object for each folder above the file, each time. In Google Cloud Storage it
        would ask for the bucket itself, which takes more rights than its files do, and try to make one that is missing.
        """
        if self.files.type_name not in ("s3", "gcs"):
            self.files.create_dir(path)

    @contextmanager
    def _created(self, name: str) -> Iterator[Any]:
        """A file of a remote file system, to be written, whose folder has been made.

        Threads write files: pyarrow completes a file when it closes it, and cannot give one up, so that a Ctrl-C, which
        comes in the main thread alone, would replace the old content by a part of the new.
        """
        try:
            with self.files.open_output_stream(f"{self.path}/{name}") as file:
                yield file
        except OSError as error:
            # Of S3 it is known when the file is sent.
            if isinstance(error, FileNotFoundError) or "NO_SUCH_BUCKET" in str(error):
                raise InputError(
                    "the bucket does not exist", where=self.uri, hint="create it, or name another"
                ) from error
            raise

    def _upload(self, folder: Path, name: str) -> None:
        with open(folder / name, "rb") as source, self._created(name) as file:
            shutil.copyfileobj(source, file, COPY_BYTES)

    def _download(self, folder: Path, name: str) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        # Else an error of the folder would be told as one of the other file system.
        with writing_to(folder, hint="free some space there"):
            try:
                source = self._opened(name)
            except FileNotFoundError as error:
                raise NotFoundError("no such file", where=(self / name).uri) from error
            with source, (folder / name).open("wb") as file:
                shutil.copyfileobj(source, file, COPY_BYTES)

    def _opened(self, name: str) -> Any:
        """A file for reading, as much at a time as is asked for: a stream of pyarrow asks S3 for 256 KiB at a time."""
        path = f"{self.path}/{name}"
        return open(path, "rb") if self.files is None else self.files.open_input_file(path)

    def download(self, folder: Path, names: Iterable[str] | None = None) -> Path:
        """Copy files into a local folder, which is made; returns that folder.

        Args:
            folder: the destination.
            names: of the files, relative to this folder; None: all.

        Raises:
            NotFoundError: there is no file of one of the names.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if self.files is None and names is None:
            with writing_to(folder):
                shutil.copytree(self.path, folder, dirs_exist_ok=True)
            return folder
        wanted = self.files_below() if names is None else names
        with translate_errors(self.uri), ThreadPoolExecutor(CONNECTIONS) as threads:
            list(threads.map(lambda name: self._download(folder, name), wanted))
        return folder

    # -- artifacts ------------------------------------------------------------------------------------------------

    def put(self, artifact: Path) -> None:
        """Copy a local artifact here; it replaces an artifact of the same kind.

        On this machine the replacement is atomic. Elsewhere the old artifact is removed first.
        """
        manifest = read_manifest(artifact)
        if self.files is None:
            with publish(Path(self.path), kind=manifest.kind, meta=manifest.meta, replace=True) as folder:
                shutil.copytree(artifact, folder, dirs_exist_ok=True)
                (folder / MANIFEST).unlink()  # ``publish`` writes it again, as the last file
            return
        self.clear()
        # The manifest comes last: until then readers see no artifact.
        self.upload(artifact, [*manifest.files, MANIFEST])

    def get(self, folder: Path) -> Manifest:
        """Copy the artifact that is here to a local folder, and verify every byte of the copy.

        Raises:
            NotFoundError: there is no artifact.
            IntegrityError: it is damaged.
        """
        if MANIFEST not in self.names():
            raise NotFoundError(f"holds no {MANIFEST}", where=self.uri)
        return self.verified(self.download(folder))

    def verified(self, copy: Path) -> Manifest:
        """The manifest of a copy of the artifact that is here, every byte of which is verified.

        Raises:
            IntegrityError: a file is damaged or missing; it is named as it is here, for the copy is the reader's own.
        """
        try:
            return verify(copy)
        except IntegrityError as error:
            where = Path(error.where or copy)
            inside = where.relative_to(copy).as_posix() if where.is_relative_to(copy) else "."
            place = self if inside == "." else self / inside
            raise IntegrityError(error.message, where=place.uri, hint=error.hint) from error


def _with_defaults(uri: str) -> str:
    """A URI as pyarrow gets it.

    Unless it says otherwise, requests to Google Cloud Storage are repeated for a minute, and a small file is sent to S3
    in one request: pyarrow begins three for it, for a file of many parts.
    """
    scheme = uri.partition("://")[0]
    defaults = {
        **dict.fromkeys(GCS_SCHEMES, f"retry_limit_seconds={RETRY_S}"),
        "s3": "allow_delayed_open=true",
    }
    name, _, _ = defaults.get(scheme, "").partition("=")
    if not name or f"{name}=" in uri:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}{defaults[scheme]}"


def _split_query(uri: str, path: str) -> tuple[str, str]:
    """A URI without its query, and the query with its ``?``: ``endpoint_override`` and the like configure the file
    system. Where the path has a ``?`` too, it is a character of a name."""
    name, mark, query = uri.partition("?")
    return (uri, "") if "?" in path else (name, mark + query)


@contextmanager
def translate_errors(uri: str) -> Iterator[None]:
    """Raise an error of a remote file system as a :class:`~cocite.errors.CociteError` of one sentence.

    A ``FileNotFoundError`` passes as it is: callers that expect it treat a missing file as none.
    """
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ArrowException) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        # Google's library puts its sentence between its own name and what is known for programs.
        line = line.removeprefix("google::cloud::Status(").partition(" error_info=")[0]
        raise CociteError(
            line[:300], where=uri, hint="check the address, the network and the rights"
        ) from error

"""Writes a completed draft: as a copy beside it, in its place, or as a patch for ``patch`` and ``git apply``."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cocite.atomic_files import replace_file, replace_files
from cocite.drafts.archives import repacked, unpacked
from cocite.drafts.completion import NO_END, SUFFIX, Completion, bib_name, check_kind
from cocite.drafts.latex_source import as_written
from cocite.drafts.reading import ARCHIVE, OpenedDraft
from cocite.errors import InputError

_UNQUOTED = frozenset('\t\n\r"\\')
"""Characters in the name of a file for which ``patch`` and git have forms that differ."""


def check_destination(path: Path, opened: OpenedDraft, *, copies: bool) -> None:
    """Refuse a draft that cannot be written, or whose copies are there already, before papers are looked for.

    Args:
        path: of the draft's main file, or of its archive.
        opened: the draft.
        copies: whether a copy is written; else a .bib file alone is new.

    Raises:
        InputError: one of these is so.
    """
    draft = opened.draft
    is_word = draft.kind == "docx"
    if not is_word:
        check_kind(draft, draft.file)
    copy = _copy_of(path, len(draft.sources))
    if path.suffix.lower() == ARCHIVE:
        bib = posixpath.join(opened.folder, bib_name(draft))
        if bib in unpacked(path.read_bytes(), path.name):
            raise InputError(
                f"holds {bib!r} already, from an earlier --write",
                where=str(path),
                hint=_advice(opened, "remove it there", Path(bib)),
            )
    beside = [] if is_word or path.suffix.lower() == ARCHIVE else [path.with_name(bib_name(draft))]
    destinations = [*beside, copy] if copies else beside
    for destination in destinations:
        if destination.exists():
            raise InputError(
                "is there already, from an earlier --write",
                where=str(destination),
                hint=_advice(opened, "remove or rename it", destination),
            )


def _advice(opened: OpenedDraft, otherwise: str, there: Path) -> str:
    """What to do with a file or folder that is there: entries that the draft cites by now must not be lost to it."""
    named, _ = opened.bibliographies()
    is_named = there.name == bib_name(opened.draft) in dict(named)
    return "the draft cites papers of it: rename it, and its name in the draft" if is_named else otherwise


def write_completion(
    done: Completion,
    path: Path,
    *,
    in_place: bool,
    folder: str = "",
    bibliographies: Mapping[str, bytes] = MappingProxyType({}),
) -> list[str]:
    """Write a completed draft: each file whole or not at all.

    One file, such as a .docx, gets a copy beside it, a project a copy of its text files and bibliographies in a folder
    of its own, an archive a copy with all that it holds.

    Args:
        done: what to write.
        path: of the draft's main file, or of its archive.
        in_place: change the draft's own files, or the archive.
        folder: of the main file within the archive.
        bibliographies: the .bib files that the draft names, by their names.

    Returns:
        The paths written.

    Raises:
        InputError: the archive cannot be packed again.
        WriteError: a file cannot be written.
    """
    if done.document:
        target = path if in_place else _copy_of(path, 1)
        with replace_file(target) as stream:
            stream.write(done.document)
        return [str(target)]
    before = _originals(done, path, folder)
    changed = _changed(done, before, folder)
    if path.suffix.lower() == ARCHIVE:
        data = repacked(path.read_bytes(), path.name, changed | _bib(done, folder))
        target = path if in_place else _copy_of(path, 1)
        with replace_file(target) as stream:
            stream.write(data)
        return [str(target)]
    copy = _copy_of(path, len(before))
    if not in_place and len(before) > 1:
        with replace_files(copy) as temporary:
            assert temporary is not None
            for name, data in {**bibliographies, **before, **changed, **_bib(done)}.items():
                (temporary / name).parent.mkdir(parents=True, exist_ok=True)
                (temporary / name).write_bytes(data)
        return [str(copy)]
    files = {(path.parent / name if in_place else copy): data for name, data in changed.items()}
    # The entries first: a draft never names keys that no file has.
    files = {**{path.with_name(name): data for name, data in _bib(done).items()}, **files}
    for file, data in files.items():
        with replace_file(file) as stream:
            stream.write(data)
    return [str(file) for file in files]


def patch_of(done: Completion, path: Path, folder: str = "") -> bytes:
    """The changes of a completed draft as a unified diff, to be applied in the draft's folder by ``patch -p1``.

    It has the bytes of the files: their encodings and ends of lines.

    Args:
        done: what is to change.
        path, folder: as of :func:`write_completion`; names are those within the archive.

    Raises:
        InputError: a file has a name that a patch cannot have.
    """
    before = _originals(done, path, folder)
    parts = []
    for name, data in (_bib(done, folder) | _changed(done, before, folder)).items():
        if _UNQUOTED & {*name}:
            raise InputError("a patch cannot name it", where=name, hint="rename it, or use --write")
        # As diff and git write it, a tab ends a name with spaces.
        end = "\t" if " " in name else ""
        old = f"a/{name}{end}".encode() if name in before else b"/dev/null"
        lines = difflib.diff_bytes(
            difflib.unified_diff,
            _lines(before.get(name, b"")),
            _lines(data),
            old,
            f"b/{name}{end}".encode(),
        )
        parts += [line if line.endswith(b"\n") else line + b"\n" + NO_END.encode() for line in lines]
    return b"".join(parts)


def _lines(data: bytes) -> list[bytes]:
    """Lines as ``patch`` has them, which end at newlines alone."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _originals(done: Completion, path: Path, folder: str) -> dict[str, bytes]:
    """The bytes of the draft's files, by their paths in its folder or its archive."""
    if path.suffix.lower() == ARCHIVE:
        files = unpacked(path.read_bytes(), path.name)
        return {(inner := posixpath.join(folder, name)): files[inner] for name in done.sources}
    parent = path.resolve().parent
    return {name: (parent / name).read_bytes() for name in done.sources}


def _changed(done: Completion, before: dict[str, bytes], folder: str) -> dict[str, bytes]:
    """The new bytes of the files that change, by their paths in the draft's folder or its archive."""
    return {
        (inner := posixpath.join(folder, name)): as_written(before[inner], text)
        for name, text in done.texts.items()
        if text != done.sources[name]
    }


def _copy_of(path: Path, files: int) -> Path:
    name = f"{path.stem}{SUFFIX}"
    return path.with_name(name if files > 1 and path.suffix.lower() != ARCHIVE else name + path.suffix)


def _bib(done: Completion, folder: str = "") -> dict[str, bytes]:
    name = posixpath.join(folder, done.bib_name)
    return {name: done.bibliography.encode()} if done.bibliography else {}

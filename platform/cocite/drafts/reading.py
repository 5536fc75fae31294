"""Reads a draft of any kind: a file, a folder or a .zip with a LaTeX project, files in memory, or a pasted text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cocite.drafts.draft import Draft, Kind
from cocite.drafts.limits import MAX_ARCHIVE_BYTES, MAX_BIB_BYTES, MAX_BINARY_BYTES, MAX_SECONDS, Budget
from cocite.drafts.source_files import (
    DraftFiles,
    FolderFiles,
    MemoryFiles,
    encoding_of,
    inner_path,
    read_utf8,
    text_of,
)
from cocite.errors import InputError, NotFoundError

SUFFIXES: dict[str, Kind] = {
    ".tex": "latex", ".ltx": "latex", ".rnw": "latex", ".md": "markdown", ".markdown": "markdown",
    ".qmd": "markdown", ".rmd": "markdown", ".txt": "text", ".text": "text", ".docx": "docx", ".pdf": "pdf",
}  # fmt: skip
"""The kind of a file by the end of its name."""
ARCHIVE = ".zip"
"""The end of the name of a project in one file."""
BINARY = frozenset({"docx", "pdf"})
"""Kinds that are no text."""
MAX_BIBLIOGRAPHIES = 20
"""Files that a draft may name as its bibliography."""
_DOCUMENT = re.compile(rb"^[^%\n]*\\documentclass\s*(?:\[[^\]]{0,2000}\]\s*)?\{\s*([\w-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OpenedDraft:
    """A draft, and the files beside it.

    Attributes:
        files: None: it has none.
        folder: of its main file within the files that it was read from; "": the main file lies at their top.

    Example:
        >>> files = {"paper.tex": b"We parse. \\\\bibliography{refs,more}", "refs.bib": b"@misc{a, title = {Trees}}"}
        >>> opened = open_files(files)
        >>> opened.draft.bibliographies, opened.bibliographies()
        (('refs', 'more'), ([('refs.bib', b'@misc{a, title = {Trees}}')], ['more']))
    """

    draft: Draft
    files: DraftFiles | None = None
    folder: str = ""

    def bibliographies(self) -> tuple[list[tuple[str, bytes]], list[str]]:
        """The .bib files that the draft names, and the names of those that are not there.

        Raises:
            InputError: one is too large.
        """
        found: dict[str, bytes] = {}
        missing = []
        for name in self.draft.bibliographies[:MAX_BIBLIOGRAPHIES]:
            try:
                wanted = name if name.endswith(".bib") else f"{name}.bib"
                file = None if self.files is None else self.files.find(wanted)
            except ValueError:
                file = None
            if self.files is None or file is None:
                missing.append(name)
                continue
            if self.files.size(file) > MAX_BIB_BYTES:
                raise InputError(f"has more than {MAX_BIB_BYTES >> 20} MiB", where=file)
            found[file] = self.files.data(file)
        return list(found.items()), missing


def read_draft(path: Path) -> Draft:
    """Read a draft from a file, or from a folder that holds one LaTeX document: that of :func:`open_draft`.

    Example:
        >>> _ = Path("draft.md").write_text("# Parsing\\n\\nWe follow @lee99 and others [@?].")
        >>> draft = read_draft(Path("draft.md"))
        >>> draft.title, [c.key for c in draft.citations], [str(gap.place) for gap in draft.gaps]
        ('Parsing', ['lee99'], ['draft.md:3'])
    """
    return open_draft(path).draft


def open_draft(path: Path, main: str = "") -> OpenedDraft:
    """Read a draft from a file, or from a folder or a .zip that holds one LaTeX document.

    Args:
        path: of the file or folder.
        main: name of the main file within a .zip that holds several documents.

    Raises:
        NotFoundError: there is no such file.
        InputError: the file is of no known kind, has no text, or takes more than :mod:`cocite.drafts.limits` allows.
    """
    path = find_draft(path)
    suffix = path.suffix.lower()
    if suffix == ARCHIVE:
        _check_size(path, MAX_ARCHIVE_BYTES)
        return open_files({path.name: path.read_bytes()}, main)
    if main:
        raise InputError("goes with a .zip", where="--main", hint="name the file itself")
    kind = _kind_of(path.name, str(path))
    budget = Budget(path.name)
    if kind in BINARY:
        _check_size(path, MAX_BINARY_BYTES)
        return OpenedDraft(_read_binary(path.read_bytes(), kind, path.name, budget))
    budget.read(path.stat().st_size)
    budget.bytes = 0  # counted where the text is kept
    files = FolderFiles(path.resolve().parent)
    return OpenedDraft(_read(text_of(path.read_bytes(), path.name), kind, path.name, budget, files), files)


def open_files(files: Mapping[str, bytes], main: str = "", *, seconds: float = MAX_SECONDS) -> OpenedDraft:
    """Read a draft from files that are in memory; nothing of it is written to disk.

    Args:
        files: by their paths, with ``/``; a single .zip stands for the files in it.
        main: path of the main file; "": the only one that is a LaTeX document, or the only one at all.
        seconds: that the reading may take.

    Raises:
        InputError: as of :func:`open_draft`.

    Example:
        >>> open_files({"draft.txt": b"We parse trees [CIT]."}).draft.gaps[0].context
        'We parse trees TARGETCIT.'
    """
    archive = ""
    if len(files) == 1 and (name := next(iter(files))).lower().endswith(ARCHIVE):
        from cocite.drafts.archives import unpacked

        archive, files = name, unpacked(files[name], name)
    paths = {}
    for name, data in files.items():
        path = inner_path(name)
        if path is None or "\0" in name or len(name) > 300:
            raise InputError("is no path within a folder", where=name[:100] or "a file without a name")
        paths[path] = data
    main = main or _main_of(paths, archive)
    if main not in paths:
        raise InputError(
            f"there is no file {main[:100]!r}", where=archive or None, hint=_named(_drafts(paths))
        )
    kind = _kind_of(main, main)
    folder, name = posixpath.split(main)
    budget = Budget(name, seconds)
    if kind in BINARY:
        return OpenedDraft(_read_binary(paths[main], kind, name, budget))
    within = MemoryFiles(paths).within(folder)
    text = read_utf8(within, name, budget)
    return OpenedDraft(_read(text, kind, name, budget, within), within, folder)


def find_draft(path: Path) -> Path:
    """The file that a draft is read from: the path, or the LaTeX document of the folder there.

    Raises:
        NotFoundError: there is no such file.
        InputError: the folder holds no LaTeX document, or several.
    """
    if path.is_dir():
        path = _main_file(path)
    if not path.is_file():
        raise NotFoundError("no such file" if not path.exists() else "is no regular file", where=str(path))
    return path


def read_text(text: str, kind: Kind) -> Draft:
    """Read a draft that was pasted; a LaTeX text reads no other file.

    Raises:
        InputError: the text is empty, or takes more than :mod:`cocite.drafts.limits` allows.
    """
    if kind in BINARY:
        raise InputError(f"a .{kind} draft is a file, not a text", hint="name the file")
    if "\0" in text:
        raise InputError("the draft is no text: it holds null characters", hint="send text")
    return _read(text.replace("\r\n", "\n").replace("\r", "\n"), kind, "", Budget(""), None)


def _read(text: str, kind: Kind, name: str, budget: Budget, files: DraftFiles | None) -> Draft:
    # Each reader needs a parser of its own, which takes a while to import.
    if kind == "latex":
        from cocite.drafts.latex import read_latex

        return read_latex(text, name, files=files, budget=budget)
    budget.read(len(text))
    if kind == "markdown":
        from cocite.drafts.markdown import read_markdown

        return read_markdown(text, name, budget=budget)
    from cocite.drafts.plain_text import read_plain_text

    return read_plain_text(text, name, budget=budget)


def _read_binary(data: bytes, kind: Kind, name: str, budget: Budget) -> Draft:
    if kind == "docx":
        from cocite.drafts.word import read_docx

        return read_docx(data, name, budget=budget)
    from cocite.drafts.pdf import read_pdf

    return read_pdf(data, name, budget=budget)


def _kind_of(name: str, where: str) -> Kind:
    suffix = PurePosixPath(name).suffix
    kind = SUFFIXES.get(suffix.lower())
    if kind is None:
        known = ", ".join([*SUFFIXES, ARCHIVE])
        raise InputError(f"is of no known kind: {suffix!r}", where=where, hint=f"known: {known}")
    return kind


def require_known(names: Collection[str]) -> None:
    """Refuse files none of which can be a draft, by their names alone.

    Raises:
        InputError: the end of no name is known.
    """
    suffixes = {PurePosixPath(name).suffix.lower() for name in names}
    if not suffixes & {*SUFFIXES, ARCHIVE}:
        _kind_of(next(iter(names)), next(iter(names))[:100])


def _check_size(path: Path, most: int) -> None:
    if path.stat().st_size > most:
        raise InputError(f"has more than {most >> 20} MiB", where=path.name, hint="leave out its pictures")


def _main_file(folder: Path) -> Path:
    """The file of a folder that is a LaTeX document."""
    mains = []
    for path in sorted(path for path in folder.glob("*.tex") if path.is_file())[:500]:
        with path.open("rb") as file:
            if is_document(file.read(1 << 20)):
                mains.append(path)
    if len(mains) == 1:
        return mains[0]
    found = ", ".join(path.name for path in mains[:10]) or "none"
    raise InputError(
        f"is a folder in which one file has to hold \\documentclass; found: {found}",
        where=str(folder),
        hint="name the file",
    )


def _main_of(files: Mapping[str, bytes], archive: str) -> str:
    """The path of the file that is a LaTeX document, or of the only draft."""
    if len(files) == 1 and not archive:
        return next(iter(files))
    drafts = _drafts(files)
    if len(drafts) == 1:
        return drafts[0]
    if not drafts:
        raise InputError(
            "holds no draft in LaTeX, Markdown or text" if archive else "no file is a draft",
            where=archive or None,
            hint="a .docx or .pdf is given as it is" if archive else f"known: {', '.join(SUFFIXES)}",
        )
    mains = [path for path in drafts if SUFFIXES[PurePosixPath(path).suffix.lower()] == "latex"]
    mains = [path for path in mains if is_document(files[path][: 1 << 20])]
    if len(mains) == 1:
        return mains[0]
    raise InputError(
        f"{len(mains) or 'no'} files hold \\documentclass, where one has to",
        where=archive or None,
        hint=_named(mains or drafts),
    )


def _drafts(paths: Iterable[str]) -> list[str]:
    """Those that may be a draft, by their names."""
    return sorted(path for path in paths if PurePosixPath(path).suffix.lower() in SUFFIXES)


def is_document(data: bytes) -> bool:
    """Whether a LaTeX file is a document of its own, and not a part of one.

    Example:
        >>> is_document(b"% \\\\documentclass{a}"), is_document(b"\\\\documentclass[11pt]{article}")
        (False, True)
    """
    if encoding_of(data[:2]) == "utf-16":
        data = data.decode("utf-16", "ignore").encode()
    found = _DOCUMENT.search(data)
    return found is not None and found[1] not in (b"subfiles", b"standalone")


def _named(paths: Sequence[str]) -> str:
    """What to do where the main file is not clear."""
    shown = ", ".join(path[:100] for path in paths[:10]) or "none"
    more = f" and {len(paths) - 10} more" if len(paths) > 10 else ""
    return f"name the main file by --main, or in a request by main; found: {shown}{more}"

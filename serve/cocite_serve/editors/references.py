"""The .bib files of drafts that are being written, with the entries that were added to them meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import Bibliography
from cocite.drafts.limits import Budget
from cocite.drafts.reading import MAX_BIBLIOGRAPHIES, find_draft
from cocite.drafts.source_files import FolderFiles, read_utf8
from cocite.errors import CociteError
from cocite_serve.editors.head import Head, read_head

NEW_FILE = "references.bib"
"""The file that entries are added to where a draft names none."""
_LOG = logging.getLogger("cocite.language_server")
_KEPT = 16
"""Bibliographies that stay in memory."""
_UPWARDS = 3
"""Folders above a draft's own in which the main file that it names may lie."""


@dataclass(frozen=True, slots=True)
class References:
    """What a draft can cite by a key.

    Attributes:
        bibliography: the entries of its files.
        file: that a new entry is added to; None: the draft has no place on the disk.
        is_named: whether the draft names that file.
        added: key -> row of the entries that were added, and that the file on the disk may not have yet.

    Example:
        >>> from cocite.drafts.advice import NO_BIBLIOGRAPHY
        >>> References(NO_BIBLIOGRAPHY, Path("refs.bib"), True, {"lee99": 3}).keys_of_rows
        {3: 'lee99'}
    """

    bibliography: Bibliography
    file: Path | None
    is_named: bool
    added: Mapping[str, int]

    @property
    def keys_of_rows(self) -> dict[int, str]:
        """Row -> the first key of the paper."""
        found: dict[int, str] = {}
        for key, row in (*self.bibliography.rows.items(), *self.added.items()):
            found.setdefault(row, key)
        return found

    @property
    def taken(self) -> set[str]:
        """All keys."""
        return {*self.bibliography.entries, *self.added}


class ReferenceFiles:
    """Finds and reads the .bib files of drafts, and reads one again when it has changed.

    Args:
        corpus: in which their entries are looked up.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> _ = Path("refs.bib").write_text("@misc{lavrenko, title = {Relevance-Based Language Models}}")
        >>> head = read_head("\\\\bibliography{refs}", "latex")
        >>> references = ReferenceFiles(starter_corpus()).of(Path("paper.tex"), head)
        >>> list(references.bibliography.entries), references.file.name
        (['lavrenko'], 'refs.bib')
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._read: dict[tuple[tuple[Path, int, int], ...], Bibliography] = {}
        self._added: dict[Path, dict[str, int]] = {}
        self._mains: dict[tuple[Path, str], Path | None] = {}

    def of(self, path: Path | None, head: Head) -> References:
        """The references of a draft; a part of a larger draft has those of its main file.

        Args:
            path: of the draft; None: it has none yet.
            head: what the draft says of itself.
        """
        if path is None:
            return References(Bibliography({}, {}), None, False, {})
        folder, names = path.resolve().parent, head.bibliographies
        if not names and head.is_part:
            main = self._main(path, head.root)
            found = read_main(main)
            if main is not None and found.bibliographies:
                folder, names = main.parent, found.bibliographies
        wanted = [
            file for name in names[:MAX_BIBLIOGRAPHIES] if (file := named_file(folder, name)) is not None
        ]
        files = wanted or [folder / NEW_FILE]
        added = {key: row for file in files for key, row in self._added.get(file, {}).items()}
        return References(self._bibliography(files), files[0], bool(wanted), added)

    def main_head(self, path: Path | None, head: Head) -> Head:
        """What the main file says of itself, where the draft is a part of a larger one; else the draft's own."""
        if path is None or not head.is_part or head.title or head.abstract:
            return head
        return read_main(self._main(path, head.root))

    def add(self, file: Path, key: str, row: int) -> None:
        """Remember that the editor has a paper's entry, saved or not."""
        self._added.setdefault(file, {})[key] = row

    def forget(self, file: Path, key: str) -> None:
        """The editor has refused an entry."""
        self._added.get(file, {}).pop(key, None)

    def _main(self, path: Path, root: str) -> Path | None:
        """The main file of a part: the one that it names, else the only one of its folder or of the folder above."""
        asked = (path, root)
        if asked not in self._mains:
            if len(self._mains) >= 1_000:
                self._mains.clear()
            self._mains[asked] = _find_main(path.resolve(), root)
        return self._mains[asked]

    def _bibliography(self, files: Sequence[Path]) -> Bibliography:
        states = []
        for file in dict.fromkeys(files):
            try:
                stat = file.stat()
            except OSError:
                continue
            states.append((file, stat.st_mtime_ns, stat.st_size))
        known = tuple(states)
        if known not in self._read:
            while len(self._read) >= _KEPT:
                self._read.pop(next(iter(self._read)))
            self._read[known] = self._all_that_can_be_read([file for file, _, _ in known])
        return self._read[known]

    def _all_that_can_be_read(self, files: Sequence[Path]) -> Bibliography:
        entries: dict[str, PaperRecord] = {}
        rows: dict[str, int] = {}
        for file in files:
            try:
                one = Bibliography.read([file], self._corpus)
            except (CociteError, OSError):
                _LOG.warning("%s: the file cannot be read as BibTeX; its keys are not completed", file)
                continue
            # Of entries with one key the first file's counts, and so does its paper.
            rows |= {key: row for key, row in one.rows.items() if key not in entries}
            entries |= {key: entry for key, entry in one.entries.items() if key not in entries}
        return Bibliography(entries, rows)


def named_file(folder: Path, name: str) -> Path | None:
    """The path of a .bib file that a draft names, whether it is there or not; None: it lies outside the folder.

    Example:
        >>> named_file(Path("/tmp"), "refs").name, named_file(Path("/tmp"), "../secret")
        ('refs.bib', None)
    """
    folder = folder.resolve()
    if not name or len(name) > 300 or "\0" in name:
        return None
    file = Path(folder, name if name.endswith(".bib") else f"{name}.bib").resolve()
    return file if file.is_relative_to(folder) else None


def read_main(path: Path | None) -> Head:
    """What a main file on the disk says of itself; nothing where it cannot be read."""
    if path is None:
        return Head()
    try:
        return read_head(read_utf8(FolderFiles(path.parent), path.name, Budget(path.name)), "latex")
    except (CociteError, OSError):
        return Head()


def _find_main(path: Path, root: str) -> Path | None:
    if root:
        named = Path(path.parent, root).resolve()
        highest = path.parents[min(_UPWARDS, len(path.parents) - 1)]
        if named.is_relative_to(highest) and named.is_file() and named != path:
            return named
    for folder in path.parents[:2]:
        try:
            return find_draft(folder)
        except (CociteError, OSError):
            continue
    return None

"""The papers that an author has already, found in a corpus: lists of ids, and libraries of reference managers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cocite.corpus.importers.files import InputFile
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import rows_of
from cocite.drafts.paper_ids import paper_of_id, rows_of_papers
from cocite.drafts.zotero import zotero_papers
from cocite.drafts.zotero_client import PREFIX
from cocite.errors import InputError, NotFoundError
from cocite.protocols import NO_ROW

TitleLookup = Callable[[Sequence[str]], Mapping[str, PaperRecord]]
"""Papers with their titles, of some DOIs, by these in lower case."""
MAX_BYTES = 32 << 20
"""Bytes of a file, as it is on the disk and unpacked to text."""
MAX_ENTRIES = 100_000
"""Papers of all files."""
MAX_LINE = 1000
"""Bytes of a line of a list of ids."""
LIBRARIES = (".bib", ".ris", ".xml", ".rdf", ".json", ".jsonl")
"""Suffixes of libraries; any other file is a list of ids."""


@dataclass(frozen=True, slots=True)
class Library:
    """The papers of some sources, and those of the corpus that they are.

    Attributes:
        rows: of the corpus' papers, ascending.
        entries: papers that the sources name; one that is named twice counts twice.
        found: how many of those the corpus holds.
        unread: entries that could not be read.
        asked: DOIs whose titles were looked up elsewhere.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> _ = Path("have.txt").write_text("vaswani2017attention\\n# to read\\narXiv:1409.0473\\nhttps://doi.org/10.1/x\\n")
        >>> library = Library.read([Path("have.txt")], starter_corpus())
        >>> starter_corpus().ids(library.rows), library.entries, library.found
        (['bahdanau2015neural', 'vaswani2017attention'], 3, 2)
    """

    rows: tuple[int, ...]
    entries: int
    found: int
    unread: int = 0
    asked: int = 0

    @classmethod
    def read(
        cls, sources: Sequence[Path | str], corpus: Corpus, titles_of: TitleLookup | None = None
    ) -> Library:
        """Read sources and look their papers up: by the corpus' own id, DOI, ACL id or arXiv number, else by title.

        A ``.bib``, ``.ris``, ``.xml`` (EndNote), ``.rdf`` (Zotero RDF) or ``.json`` (CSL-JSON) file is a library, whose
        entries have DOIs and titles, and so is ``zotero:`` or ``zotero:COLLECTION``, of the Zotero that runs on this
        machine. Any other is a text file with an id on each line; empty lines, and those that begin with ``#``, are
        left out.

        Args:
            sources: files and libraries.
            corpus: in which they are looked up.
            titles_of: papers by their DOIs in lower case, of those DOIs of lists that the corpus lacks: their titles
                are looked up then; None: they are not.

        Raises:
            InputError: a file is too large, has too many entries, or cannot be read as what its name says; Zotero gives
                no answer.
            NotFoundError: there is no such file or collection.
        """
        papers: list[PaperRecord] = []
        is_id: list[bool] = []
        count = unread = 0
        for source in sources:
            records, listed = _records(str(source))
            for record in records:
                count += 1
                if count > MAX_ENTRIES:
                    raise InputError(
                        f"more than {MAX_ENTRIES:,} papers", where=str(source), hint="give fewer"
                    )
                if record is None:
                    unread += 1
                    continue
                papers.append(record)
                is_id.append(listed)
        rows = rows_of_papers(papers, np.array(is_id, bool), corpus)
        lacking = [
            at for at, paper in enumerate(papers) if rows[at] == NO_ROW and paper.doi and not paper.title
        ]
        if titles_of is not None and lacking:
            known = titles_of([papers[at].doi for at in lacking])
            titled = [known.get(papers[at].doi.lower(), PaperRecord("", "")) for at in lacking]
            rows[lacking] = rows_of([replace(paper, doi="") for paper in titled], corpus)
        asked = len(lacking) if titles_of is not None else 0
        found = rows[rows != NO_ROW]
        return cls(tuple(np.unique(found).tolist()), len(papers), len(found), unread, asked)


NO_LIBRARY = Library((), 0, 0)
"""Of an author who names no file."""


def _records(source: str) -> tuple[Iterator[PaperRecord | None], bool]:
    """The papers of a source, and whether it is a list of ids; None for an entry that cannot be read."""
    if source.startswith(PREFIX):
        return zotero_papers(source.removeprefix(PREFIX).strip()), False
    path = Path(source)
    _check(path)
    if path.suffix.lower() in LIBRARIES:
        return _entries(path), False
    return _listed(path), True


def _check(path: Path) -> None:
    if not path.exists():
        raise NotFoundError("no such file", where=str(path))
    if not path.is_file():
        raise InputError(
            "is not a file", where=str(path), hint="name a list of ids, or a .bib, .ris, .xml, .rdf or .json"
        )
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"has more than {MAX_BYTES >> 20} MiB", where=str(path), hint="split it")


def _entries(path: Path) -> Iterator[PaperRecord | None]:
    """The papers of a library; None for an entry that cannot be read."""
    from cocite.corpus.importers.bibtex import BibTeX
    from cocite.corpus.importers.csl import CSL
    from cocite.corpus.importers.endnote import EndNote
    from cocite.corpus.importers.ris import RIS
    from cocite.corpus.importers.source import Source
    from cocite.corpus.importers.zotero_rdf import ZoteroRDF

    formats: dict[str, Callable[[Path], Source]] = {
        ".bib": BibTeX,
        ".ris": RIS,
        ".xml": EndNote,
        ".rdf": ZoteroRDF,
    }
    source = formats.get(path.suffix.lower(), CSL)(path)
    read = 0
    for record in source:
        read += isinstance(record, PaperRecord)
        # Without the abstract, so that the memory is bounded by the number of entries.
        yield replace(record, abstract="") if isinstance(record, PaperRecord) else None
    if not read:
        raise InputError(f"holds no entry of {source.format} that can be read", where=str(path))


def _listed(path: Path) -> Iterator[PaperRecord]:
    """A record without a title for each line of a list of ids."""
    count = total = 0
    with InputFile(path) as file:
        while line := file.readline(MAX_LINE + 1):
            count, total = count + 1, total + len(line)
            where = f"{path}, line {count}"
            if len(line) > MAX_LINE:
                raise InputError(
                    f"longer than {MAX_LINE:,} bytes", where=where, hint="give an id on each line"
                )
            if total > MAX_BYTES:
                raise InputError(f"unpacks to more than {MAX_BYTES >> 20} MiB", where=str(path))
            try:
                text = line.decode("utf-8-sig").strip()
            except UnicodeDecodeError as error:
                raise InputError("not valid UTF-8", where=where, hint="give an id on each line") from error
            if "\0" in text:
                raise InputError("not a text file", where=where, hint="give an id on each line")
            if text and not text.startswith("#"):
                yield paper_of_id(text)

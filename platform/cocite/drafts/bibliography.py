"""Which papers of a corpus a draft cites: its keys, through the entries of a .bib file, by DOI or title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cocite.corpus.importers.bibtex import BibTeX
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.corpus.title_forms import normal_titles
from cocite.drafts.draft import Draft
from cocite.drafts.known_papers import KnownPapers
from cocite.drafts.limits import MAX_BIB_BYTES
from cocite.drafts.zotero import zotero_bibliography
from cocite.drafts.zotero_client import PREFIX
from cocite.errors import InputError, NotFoundError
from cocite.protocols import NO_ROW


@dataclass(frozen=True, slots=True)
class Bibliography:
    """The entries of a draft's .bib files, and the papers of the corpus that they are.

    Attributes:
        entries: key -> its entry.
        rows: key -> the paper's row; without the entries whose paper the corpus does not hold.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> _ = Path("refs.bib").write_text("@misc{lavrenko, title = {{Relevance-based} Language Models}}")
        >>> bibliography = Bibliography.read([Path("refs.bib")], starter_corpus())
        >>> starter_corpus().paper(bibliography.rows["lavrenko"]).year
        2001
    """

    entries: Mapping[str, PaperRecord]
    rows: Mapping[str, int]

    @classmethod
    def read(cls, sources: Sequence[Path | str], corpus: Corpus) -> Bibliography:
        """Read .bib files and look their entries up; of entries with one key the first counts.

        A source ``zotero:`` or ``zotero:COLLECTION`` is the library of the Zotero that runs on this machine, with the
        keys by which its user cites.

        Raises:
            InputError: a file is no .bib file, or is too large; Zotero gives no answer, or no citation keys.
            NotFoundError: there is no such file or collection.
        """
        return cls.of((paper for source in sources for paper in _entries(str(source))), corpus)

    @classmethod
    def of(cls, papers: Iterable[PaperRecord], corpus: Corpus) -> Bibliography:
        """Look entries up, whose ids are their keys; of entries with one key the first counts."""
        entries: dict[str, PaperRecord] = {}
        for paper in papers:
            entries.setdefault(paper.id, paper)
        rows = rows_of(list(entries.values()), corpus)
        found = {key: row for key, row in zip(entries, rows.tolist(), strict=True) if row != NO_ROW}
        return cls(entries, found)

    def cited_rows(self, draft: Draft) -> dict[str, int]:
        """The rows of the papers that a draft cites, by its keys, in the order of its text."""
        keys = dict.fromkeys(citation.key for citation in draft.citations)
        return {key: self.rows[key] for key in keys if key in self.rows}

    def key_of(self, row: int) -> str | None:
        """The first key of a paper's entries."""
        return next((key for key, known in self.rows.items() if known == row), None)


def _entries(source: str) -> Iterator[PaperRecord]:
    if source.startswith(PREFIX):
        yield from zotero_bibliography(source.removeprefix(PREFIX).strip())
        return
    path = Path(source)
    if not path.is_file():
        raise NotFoundError("no such file" if not path.exists() else "is no file", where=source)
    if path.stat().st_size > MAX_BIB_BYTES:
        raise InputError(f"has more than {MAX_BIB_BYTES >> 20} MiB", where=source)
    yield from (record for record in BibTeX(path) if isinstance(record, PaperRecord))


def rows_of(papers: Sequence[PaperRecord], corpus: Corpus) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """(P,) the row of each paper in a corpus: that with its DOI, else with its title, else ``NO_ROW``.

    Titles are the same if they are so in lower case, without accents, and with one space in place of what is neither
    letter nor digit. Of several papers with one title, that of the same year counts, else the earliest row.
    """
    rows = np.full(len(papers), NO_ROW, np.int32)
    if not papers:
        return rows
    known = KnownPapers.of(corpus)
    by_doi = known.rows("doi", [paper.doi for paper in papers if paper.doi])
    titles = normal_titles(pa.array([paper.title for paper in papers], pa.string())).to_pylist()
    by_title = known.rows(
        "title", [paper.title for paper, title in zip(papers, titles, strict=True) if " " in title]
    )
    for i, (paper, title) in enumerate(zip(papers, titles, strict=True)):
        found = by_doi.get(paper.doi.lower(), [])
        # One word, such as "Editorial", is the title of many papers.
        found = found or (by_title.get(title, []) if " " in title else [])
        same_year = [row for row in found if paper.year and corpus.years[row] == paper.year]
        if found:
            rows[i] = (same_year or found)[0]
    return rows

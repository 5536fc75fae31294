"""The papers that an author has already, found in a corpus: lists of ids, and libraries of reference managers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import rows_of
from cocite.drafts.zotero import PREFIX, zotero_papers
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
_ACL = re.compile(r"(?:https?://)?(?:www\.)?aclanthology\.org/([\w.-]+?)(?:\.pdf|\.bib)?/?$", re.IGNORECASE)
ACL_DOI = re.compile(r"10\.(?:18653/v1|3115/v1)/(?P<id>.+)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"^(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf|html)/(.+?)(?:\.pdf)?/?(?:[?#].*)?$", re.IGNORECASE
)
_S2 = re.compile(
    r"(?:https?://)?(?:(?:www|api)\.)?semanticscholar\.org/(?:p/|(?:graph/v1/)?paper/(?:[^/?#]*/)?)?"
    r"(?P<id>(?:CorpusId:)?\d{1,12}|[0-9a-f]{40})/?(?:[?#].*)?$",
    re.IGNORECASE,
)
"""An address at Semantic Scholar: ``/paper/TITLE/HASH``, ``/p/NUMBER``, or ``/CorpusID:NUMBER`` of its API."""
_OPENALEX = re.compile(r"(?:https?://)?(?:(?:www|api)\.)?openalex\.org/(?:works/)?(W\d+)/?$", re.IGNORECASE)
CORPUS_ID = re.compile(r"(?:CorpusId|S2):[ ]?(?P<number>\d{1,12})$", re.IGNORECASE)
_ARXIV = r"(?i)(?:^|arxiv[:.] ?|\babs/)(?P<number>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?:$|[^\w.-])"
"""As :mod:`cocite.corpus.arxiv` finds a preprint's number, for Arrow's engine, which looks at columns at once."""


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
        rows = _rows(papers, np.array(is_id, bool), corpus)
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


def paper_of_id(text: str) -> PaperRecord:
    """The record of an id: with a DOI where it is one, and without an address around it.

    Example:
        >>> paper_of_id("https://doi.org/10.1000/182").doi, paper_of_id("https://aclanthology.org/P02-1040.pdf").id
        ('10.1000/182', 'P02-1040')
    """
    id_ = text
    if match := _ACL.match(text):
        id_ = match[1]
    elif match := _ADDRESS.match(text):
        id_ = f"arXiv:{match[1]}"
    elif match := _S2.match(text):
        id_ = match["id"].lower()
    elif match := _OPENALEX.match(text):
        id_ = match[1].upper()
    if match := CORPUS_ID.match(id_):
        id_ = match["number"]
    doi = bare_doi(id_)
    return PaperRecord(id_, "", doi=doi if doi.startswith("10.") and "/" in doi else "")


def _rows(
    papers: Sequence[PaperRecord], is_id: np.ndarray[tuple[int], np.dtype[np.bool_]], corpus: Corpus
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """(P,) the row of each paper, ``NO_ROW`` where the corpus has none.

    The key of a library's entry is the author's own, so it is no id of the corpus.
    """
    rows = corpus.find([paper.id for paper in papers])
    rows[~is_id] = NO_ROW
    acl = [match["id"] if (match := ACL_DOI.match(paper.doi)) else "" for paper in papers]
    tries: tuple[Callable[[list[int]], np.ndarray[tuple[int], np.dtype[np.int32]]], ...] = (
        lambda at: corpus.find([acl[i] for i in at]),
        # Corpora that mix sources write before a number whose it is.
        *(
            lambda at, before=before: corpus.find([f"{before}{papers[i].id}" if is_id[i] else "" for i in at])
            for before in ("CorpusId:", "S2:")
        ),
        lambda at: rows_of([papers[i] for i in at], corpus),
        lambda at: rows_of(
            [PaperRecord("", "", doi=f"10.18653/v1/{papers[i].id}" if is_id[i] else "") for i in at], corpus
        ),
        lambda at: _preprints([papers[i] for i in at], corpus),
    )
    for other in tries:
        at = np.flatnonzero(rows == NO_ROW)
        if len(at):
            rows[at] = other(at.tolist())
    return rows


def _preprints(papers: Sequence[PaperRecord], corpus: Corpus) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """(P,) the first row whose DOI, id or venue names the same preprint on arXiv."""
    numbers = [preprint.number.lower() if (preprint := preprint_of(paper)) else "" for paper in papers]
    wanted = pa.array(sorted({number for number in numbers if number}), pa.string())
    found: dict[str, int] = {}
    for name in ("doi", "id", "venue") if len(wanted) else ():
        first = 0
        for chunk in corpus.papers.table.column(name).chunks:  # one after another bounds the memory
            has = pc.utf8_lower(pc.struct_field(pc.extract_regex(chunk, _ARXIV), "number"))
            at = np.flatnonzero(pc.is_in(has, value_set=wanted).to_numpy(zero_copy_only=False))
            for position, number in zip(at.tolist(), has.take(pa.array(at)).to_pylist(), strict=True):
                found[number] = min(found.get(number, first + position), first + position)
            first += len(chunk)
    return np.array([found.get(number, NO_ROW) for number in numbers], np.int32)

"""A folder of PDFs, or of the texts that another program took out of them, one for each paper.

The id of a paper is its file's name. References are links to papers of the same folder, as those of GROBID's TEI are.
Each file is read once, in a process of its own; what was read waits on disk until all titles are known.
"""

from __future__ import annotations

import datetime
import os
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

from cocite.corpus.articles.article import Article
from cocite.corpus.articles.limits import MAX_FILE_BYTES
from cocite.corpus.articles.printed_titles import Piece, possible_titles, printed_dois
from cocite.corpus.articles.reader_process import read_article
from cocite.corpus.arxiv import arxiv_number
from cocite.corpus.importers.files import PACKED, InputFile, bare_name, folder_files
from cocite.corpus.importers.fulltext import BodyText
from cocite.corpus.importers.named_papers import Named, NamedPapers, linked
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.records import ARXIV_DOI, Malformed, PaperRecord, Record
from cocite.errors import InputError

READERS = 4
"""Files that are read at a time, where the machine has as many processors; each may take 1 GiB of memory."""
_FEW = 4
"""Words of a title from which on it is looked up where commas stand around it."""
_AHEAD = 2
"""Files that wait for each reader."""
_READ: TypeAdapter[Article | str] = TypeAdapter(Article | str)
"""An article, or why it cannot be read."""


class PDFs(WholeFiles):
    """Papers with their references, sentences and contexts, as far as the text of their PDFs tells them.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.pdf import PDFs
        >>> Path("papers").mkdir()
        >>> _ = Path("papers", "scan.pdf").write_bytes(b"no text")
        >>> list(PDFs(Path("papers")))[0].reason
        'is no .pdf that can be read (make it anew, or use its source)'
    """

    format = "pdf"
    suffixes = ".pdf"
    is_text = False

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        yield from self.unread(self.files)
        papers = NamedPapers(by_letters=True)
        with tempfile.TemporaryFile(prefix="cocite-pdf-") as spool:
            for file, article in self._articles():
                if isinstance(article, Article):
                    papers.add(self._id(file), Named(article.doi, article.arxiv, article.title))
                spool.write(_READ.dump_json(article) + b"\n")
            spool.seek(0)
            yield from self._records(spool, papers)

    def parts(self, size: int) -> list[SourcePart]:
        """The whole source: references are looked up among all of its papers."""
        return Source.parts(self, size)

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of the source."""
        return Source.read_part(self, part)

    def files_of(self, path: Path) -> list[Path]:
        """All PDFs of a folder, whatever else lies beside them."""
        if not path.is_dir():
            return [path]
        return [file for file in folder_files(path) if bare_name(file).endswith(self.suffixes)]

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file, whose references are found among no other papers."""
        self.name_file(file)
        yield from self._paper(self._id(file), _article(file, self.is_text), NamedPapers())

    def _records(self, spool: BinaryIO, papers: NamedPapers) -> Iterator[Record]:
        self.position.line = 0
        for file, line in zip(self.files, spool, strict=True):
            self.name_file(file)
            yield from self._paper(self._id(file), _READ.validate_json(line), papers)

    def _articles(self) -> Iterator[tuple[Path, Article | str]]:
        """What each file holds, in order; it says how far the reading has come."""
        readers = min(READERS, len(os.sched_getaffinity(0)))
        waiting: deque[tuple[Path, Future[Article | str]]] = deque()
        # Threads suffice: each waits for the process that reads its file.
        pool = ThreadPoolExecutor(readers)
        try:
            for number, file in enumerate(self.files):
                waiting.append((file, pool.submit(_article, file, self.is_text)))
                if number >= readers * _AHEAD:
                    yield self._next(waiting)
            while waiting:
                yield self._next(waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self, waiting: deque[tuple[Path, Future[Article | str]]]) -> tuple[Path, Article | str]:
        file, article = waiting.popleft()
        found = article.result()
        self.done += file.stat().st_size
        return file, found

    def _paper(self, id_: str, article: Article | str, papers: NamedPapers) -> Iterator[Record]:
        if isinstance(article, str):
            yield Malformed(article)
            return
        cited = _cited(article.references, papers)
        paper = PaperRecord(
            id_,
            article.title,
            article.abstract,
            article.year,
            doi=article.doi or (ARXIV_DOI + article.arxiv if article.arxiv else ""),
        )
        yield from linked(paper, cited, "references")
        body = BodyText()
        for section, pieces in article.paragraphs:
            for text, references in pieces:
                if not references:
                    body.add(text)
                for reference in references:
                    body.cite(text, cited[reference] if reference >= 0 else "")
            body.end_paragraph(section)
        yield from body.records(id_)

    def _id(self, file: Path) -> str:
        return self.id_of(file, (*PACKED, self.suffixes))


class PDFTexts(PDFs):
    """The same of files ``.txt``, such as ``pdftotext`` makes of PDFs, with a form feed behind each page.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.pdf import PDFTexts
        >>> Path("texts").mkdir()
        >>> _ = Path("texts", "lee99.txt").write_text("On trees\\nAnn Lee, 1999\\nAbstract\\nWe draw.\\f")
        >>> [(paper.id, paper.title, paper.year) for paper in PDFTexts(Path("texts"))]
        [('lee99', 'On trees', 1999)]
    """

    format = "pdf-text"
    suffixes = ".txt"
    is_text = True


def _article(file: Path, is_text: bool) -> Article | str:
    """What a file holds, or why it cannot be read."""
    try:
        with InputFile(file) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        return read_article(data, last_year=datetime.date.today().year + 1, is_text=is_text)
    except InputError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message


def _may_be_whole(text: str, run: Piece) -> bool:
    """Whether a run of a reference may be all of its title.

    Behind a colon a title goes on, and a few words between commas are more often a part of one.
    """
    before, behind = text[: run.start].rstrip()[-1:], text[run.end : run.end + 1]
    return behind != ":" and not (before == behind == "," and len(run.text.split()) < _FEW)


def _cited(references: tuple[str, ...], papers: NamedPapers) -> list[str]:
    """The id of the paper that each reference names; empty where it names none.

    A DOI or an arXiv number counts first. Of several titles that begin at different places the first counts, as venues
    and series follow titles, and of those that begin at one place the longest.
    """
    names: list[Named] = []
    owners: list[tuple[int, int, int]] = []
    for at, text in enumerate(references):
        doi = next((doi.text.lower() for doi in printed_dois(text)), "")
        names.append(Named(doi, arxiv_number(text), ""))
        owners.append((at, -1, 0))
        for run in possible_titles(text):
            if _may_be_whole(text, run):
                names.append(Named("", "", run.text))
                owners.append((at, run.start, -len(run.text)))
    found = [(owner, id_) for owner, id_ in zip(owners, papers.find(names), strict=True) if id_]
    best: dict[int, str] = {}
    for (at, _, _), id_ in sorted(found):
        best.setdefault(at, id_)
    return [best.get(at, "") for at in range(len(references))]

"""Semantic Scholar's datasets: S2AG (papers, abstracts, citations) and S2ORC (full texts with spans), as JSON lines.

The first record of a file shows the file's kind, so a folder may hold any of them. Ids are corpus ids. Where
papers have their abstracts or full texts in other files, these are joined through a small database on disk, not in
memory.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cocite.corpus.importers.fulltext import body_records
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.record_reading import excerpt, malformed, paper_of
from cocite.corpus.importers.s2orc_body import Body
from cocite.corpus.importers.source import JSONLines, first_objects
from cocite.corpus.importers.values import FieldError, mapping, text, texts
from cocite.corpus.records import (
    TARGET_MARK,
    CitationRecord,
    ContextRecord,
    Malformed,
    NumberedId,
    PaperRecord,
    Record,
)
from cocite.errors import InputError

KINDS = ("papers", "citations", "fulltext", "abstracts")


class SemanticScholar(JSONLines):
    """S2AG and S2ORC files.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.semantic_scholar import SemanticScholar
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "papers.jsonl").write_text('{"corpusid": 1, "title": "A", "year": 1999}')
        ...     _ = Path(folder, "abstracts.jsonl").write_text('{"corpusid": 1, "abstract": "Text."}')
        ...     paper, = SemanticScholar(Path(folder))
        >>> paper.id, paper.abstract
        ('1', 'Text.')
    """

    format = "s2"

    def __init__(self, path: Path, files: list[Path] | None = None) -> None:
        super().__init__(path, files)
        self._kinds: dict[str, list[Path]] = {kind: [] for kind in (*KINDS, "")}
        for file in self.files:
            record = next(iter(first_objects(file)), {})
            self._kinds[kind_of(record) or ""].append(file)
        kinds = [kind for kind in KINDS if self._kinds[kind]]
        if kinds and not self._kinds["papers"] and not self._kinds["fulltext"]:
            raise InputError(
                f"holds {' and '.join(kinds)} but no papers",
                where=str(path),
                hint="put the files of the dataset `papers` beside them",
            )
        self.total += sum(f.stat().st_size for f in self._joined())
        self._abstracts: sqlite3.Connection | None = None
        self._contexts = 0

    @staticmethod
    def recognises(value: dict[str, object]) -> bool:
        """Whether a first record looks like one of these datasets."""
        return kind_of(value) is not None

    def _joined(self) -> list[Path]:
        """Files whose abstracts belong to papers of other files."""
        return self._kinds["abstracts"] + self._kinds["fulltext"] if self._kinds["papers"] else []

    def begin(self) -> None:
        """Number the contexts of citations from 0."""
        self._contexts = 0

    def ordered_files(self) -> list[Path]:
        """Papers first."""
        kinds = self._kinds
        # A file whose first record is of no kind is read to say what is wrong with each of its lines.
        return kinds["papers"] + kinds["citations"] + kinds["fulltext"] + kinds[""]

    def parts(self, size: int) -> list[SourcePart]:
        """Files or ranges of lines; all together where papers have their abstracts in other files."""
        return [SourcePart(size=self.total)] if self._joined() else super().parts(size)

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of a part."""
        return iter(self) if part.file < 0 else super().read_part(part)

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        self.begin()
        with tempfile.TemporaryDirectory() as folder:
            if self._joined():
                self._abstracts = sqlite3.connect(
                    str(Path(folder) / "abstracts.sqlite"), isolation_level=None
                )
                yield from self._store_abstracts(self._abstracts)
            yield from self.unread(self.files)
            for file in self.ordered_files():
                yield from self.read(file)
            if self._abstracts is not None:
                yield from self._unused_abstracts(self._abstracts)
                self._abstracts.close()
                self._abstracts = None

    def _store_abstracts(self, database: sqlite3.Connection) -> Iterator[Record]:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE abstracts (id TEXT PRIMARY KEY, text TEXT, used INTEGER) WITHOUT ROWID"
        )
        database.execute("BEGIN")
        for file in self._joined():
            # A full text is read a second time, and what is wrong with it is counted then.
            once = file in self._kinds["abstracts"]
            for value in self.objects(file):
                if isinstance(value, Malformed):
                    if once:
                        yield value
                    continue
                if once and kind_of(value) != "abstracts":
                    yield Malformed("not an abstract, as the first record is", excerpt=excerpt(value))
                    continue
                try:
                    abstract = text(value, "abstract") if "abstract" in value else Body(value).abstract
                    entry = (text(value, "corpusid"), abstract.encode("utf-8", "replace").decode(), not once)
                    if abstract:
                        database.execute("INSERT OR IGNORE INTO abstracts VALUES (?, ?, ?)", entry)
                except FieldError as error:
                    if once:
                        yield malformed(error)
        database.execute("COMMIT")

    def _unused_abstracts(self, database: sqlite3.Connection) -> Iterator[Malformed]:
        """One hit of a rule that stands for all abstracts that no paper was found for."""
        unused = "FROM abstracts WHERE NOT used"
        count = database.execute(f"SELECT COUNT(*) {unused}").fetchone()[0]
        if count:
            (first,) = database.execute(f"SELECT id {unused} LIMIT 1").fetchone()
            self.position.file, self.position.line = self._kinds["abstracts"][0].name, 0
            rule = "abstract_of_unknown_paper"
            yield Malformed(f"no paper has the id {first}", "corpusid", rule, count=count)

    def records(self, value: dict[str, Any]) -> Iterator[Record]:
        """The records of one line, whichever dataset it is of."""
        kind = kind_of(value)
        if kind == "papers":
            yield self._paper(value)
        elif kind == "citations":
            yield from self._citation(value)
        elif kind == "fulltext":
            yield from self._fulltext(value)
        else:
            yield Malformed(
                "neither a paper, nor a citation, nor a full text", "corpusid", excerpt=excerpt(value)
            )

    def _paper(self, value: dict[str, Any]) -> PaperRecord:
        id_ = text(value, "corpusid", "corpusId")
        abstract = text(value, "abstract")
        if self._abstracts is not None:
            row = self._abstracts.execute("SELECT text FROM abstracts WHERE id = ?", (id_,)).fetchone()
            if row:
                self._abstracts.execute("UPDATE abstracts SET used = 1 WHERE id = ?", (id_,))
                abstract = abstract or row[0]
        return paper_of(
            value,
            id=id_,
            abstract=abstract,
            venue=text(value, "venue") or text(mapping(value, "journal"), "name"),
            keyphrases=tuple(dict.fromkeys(texts(value, "s2fieldsofstudy", "category"))),
            doi=text(mapping(value, "externalids"), "DOI", "doi"),
        )

    def _citation(self, value: dict[str, Any]) -> Iterator[Record]:
        citing, cited = text(value, "citingcorpusid"), text(value, "citedcorpusid")
        if not citing or not cited:
            # The dataset lists references that were not matched to a paper: there is nothing to link to.
            yield Malformed(
                "one side of the citation is not matched to a paper", "citedcorpusid", "unmatched_citation"
            )
            return
        yield CitationRecord(citing, cited)
        if self._kinds["fulltext"]:
            return
        for sentence in texts(value, "contexts"):
            # S2AG does not say where in the sentence the citation stood; the gap is put at its end.
            id_ = NumberedId(citing, self._contexts)
            yield ContextRecord(id_, citing, (cited,), f"{sentence} {TARGET_MARK}")
            self._contexts += 1

    def _fulltext(self, value: dict[str, Any]) -> Iterator[Record]:
        body = Body(value)
        id_ = text(value, "corpusid")
        if not self._kinds["papers"]:
            yield paper_of(
                value,
                id=id_,
                title=text(value, "title") or body.first("title"),
                abstract=body.abstract,
                venue=text(value, "venue") or body.first("venue"),
                authors=texts(value, "authors") or tuple(body.pieces("author")),
                doi=text(mapping(value, "externalids"), "doi", "DOI"),
            )
        mentions = body.mentions()
        if not self._kinds["citations"]:
            for cited in dict.fromkeys(m.cited for m in mentions if m.cited):
                yield CitationRecord(id_, cited)
        yield from body_records(id_, body.text, body.paragraphs(), mentions)


def kind_of(value: dict[str, Any]) -> str | None:
    """The one of ``KINDS`` that a record is of."""
    if "citingcorpusid" in value or "citedcorpusid" in value:
        return "citations"
    if "corpusid" not in value and "corpusId" not in value:
        return None
    if isinstance(value.get("content"), dict) or isinstance(value.get("body"), dict):
        return "fulltext"
    if "title" in value:
        return "papers"
    return "abstracts" if "abstract" in value else None

"""The form in which HAtten's authors published ACL-200, FullTextPeerRead, RefSeer and arXiv: a folder of JSON files.

==============  =====================================================================================
file            content
==============  =====================================================================================
papers.json     one object: id of a paper -> ``title``, ``abstract``
contexts.json   one object: id of a context -> ``masked_text``, ``citing_id``, ``context_id``, ``refid``
train.json,     a list of ``context_id``, ``positive_ids``: the queries of a split, with what is relevant
val.json,
test.json
==============  =====================================================================================

The gap of a ``masked_text`` reads ``TARGETCIT``, other citations ``OTHERCIT``, as in cocite's own contexts. What a
context cites are its ``positive_ids``, as in the authors' code. Other fields, such as a year, are not read: what is
known before a split follows from the splits alone.

The splits are lists of contexts, and those of a store are of papers: a paper gets the latest split of its contexts, and
its contexts of other splits are left out. So a split's local task has no query that the published list lacks, and
nothing of a held-out query is trained on. Source: github.com/nianlonggu/Local-Citation-Recommendation.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cocite.corpus.importers.files import PACKED, InputFile, bare_name
from cocite.corpus.importers.json_entries import json_entries
from cocite.corpus.importers.json_values import json_values
from cocite.corpus.importers.record_reading import excerpt, read_records
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.values import FieldError, text, texts
from cocite.corpus.records import SPLITS, ContextRecord, Malformed, PaperRecord, Record
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

SPLIT_FILES = {"test.json": "test", "val.json": "dev", "train.json": "train"}
"""Name of a file -> its split, the latest first: a context that two lists name belongs to the first of them."""
NEEDED = ("papers.json", "contexts.json")
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE queries (id TEXT PRIMARY KEY, split INTEGER, cited TEXT, citing TEXT) WITHOUT ROWID;
"""
_PAPER_SPLITS = """
CREATE TABLE papers (id TEXT PRIMARY KEY, split INTEGER) WITHOUT ROWID;
INSERT INTO papers SELECT citing, MAX(split) FROM queries WHERE citing IS NOT NULL GROUP BY citing;
"""


class Hatten(Source):
    """Papers and contexts of such a folder, with the published splits.

    The lists of the splits are joined with the contexts through a small database on disk, not in memory.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.hatten import Hatten
        >>> context = {"masked_text": "as in TARGETCIT", "context_id": "b_a_0", "citing_id": "b", "refid": "a"}
        >>> contents = {
        ...     "papers.json": {"a": {"title": "A", "abstract": ""}, "b": {"title": "B", "abstract": ""}},
        ...     "contexts.json": {"b_a_0": context},
        ...     "test.json": [{"context_id": "b_a_0", "positive_ids": ["a"]}],
        ... }
        >>> for name, content in contents.items():
        ...     _ = Path(name).write_text(json.dumps(content))
        >>> for record in Hatten(Path(".")):
        ...     print(record.id, getattr(record, "split", record))  # doctest: +ELLIPSIS
        a
        b test
        b_a_0 ContextRecord(id='b_a_0', citing='b', cited=('a',), text='as in TARGETCIT', ...)
    """

    format = "hatten"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._files = published_files(self.path)
        for name in (*NEEDED, *SPLIT_FILES):
            if name not in self._files and (name in NEEDED or not self._splits):
                raise InputError(
                    f"holds no {name}",
                    where=str(path),
                    hint="name the folder of papers.json, contexts.json, train.json, val.json and test.json",
                )
        # The contexts are read twice: before the papers, whose splits follow from them, and behind them.
        self.total = sum(self._files[name].stat().st_size for name in (*self._splits, *NEEDED, NEEDED[1]))

    @property
    def _splits(self) -> list[str]:
        return [name for name in SPLIT_FILES if name in self._files]

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(sqlite3.connect(str(Path(folder, "queries.sqlite")), isolation_level=None)) as database,
        ):
            database.executescript(_SCHEMA)
            database.execute("BEGIN")
            yield from self.unread(list(self._files.values()))
            for name in self._splits:
                yield from self._store_queries(database, name)
            self._find_citing_papers(database)
            yield from self._unused_queries(database)
            for id_, value in self.values_of(self._files["papers.json"], json_entries):
                yield from _read(id_, value, lambda id_, value: self._paper(database, id_, value))
            for id_, value in self.values_of(self._files["contexts.json"], json_entries):
                yield from _read(id_, value, lambda id_, value: self._context(database, id_, value))

    def _store_queries(self, database: sqlite3.Connection, name: str) -> Iterator[Record]:
        """Keep the split and the cited papers of each query; reports what is none."""
        code = SPLITS.index(SPLIT_FILES[name])
        statement = "INSERT OR IGNORE INTO queries VALUES (?, ?, ?, NULL)"
        for value in self.values_of(self._files[name], json_values):
            if isinstance(value, Malformed):
                yield value
                continue
            yield from read_records(value, lambda value: self._store_query(database, statement, code, value))

    def _store_query(
        self, database: sqlite3.Connection, statement: str, code: int, value: dict[str, Any]
    ) -> Iterator[Record]:
        id_, cited = text(value, "context_id"), texts(value, "positive_ids")
        if not id_:
            raise FieldError("context_id", "the id of a context", value.get("context_id"))
        entry = (_storable(id_), code, json.dumps(cited))
        if not database.execute(statement, entry).rowcount:
            reason = f"the context {id_} is a query already"
            yield Malformed(reason, "context_id", "repeated_query", excerpt(value))

    def _find_citing_papers(self, database: sqlite3.Connection) -> None:
        """Find the citing paper of each query, and the split of each paper."""
        for id_, value in self.values_of(self._files["contexts.json"], json_entries):
            if isinstance(value, dict) and isinstance(value.get("citing_id"), str | int):
                citing = _storable(str(value["citing_id"]))
                database.execute("UPDATE queries SET citing = ? WHERE id = ?", (citing, _storable(id_)))
        database.execute("COMMIT")
        database.executescript(_PAPER_SPLITS)

    def _unused_queries(self, database: sqlite3.Connection) -> Iterator[Malformed]:
        """One hit of a rule for each split that names contexts which are not there."""
        for name in self._splits:
            code = SPLITS.index(SPLIT_FILES[name])
            where = "FROM queries WHERE citing IS NULL AND split = ?"
            count, first = database.execute(f"SELECT COUNT(*), MIN(id) {where}", (code,)).fetchone()
            if count:
                self.position.file, self.position.line = self._files[name].name, 0
                reason = f"contexts.json holds no context {first}"
                yield Malformed(reason, "context_id", "query_without_context", count=count)

    def _paper(self, database: sqlite3.Connection, id_: str, value: dict[str, Any]) -> Iterator[Record]:
        found = database.execute("SELECT split FROM papers WHERE id = ?", (_storable(id_),)).fetchone()
        split = SPLITS[found[0]] if found else ""
        yield PaperRecord(id_, text(value, "title"), text(value, "abstract"), split=split)

    def _context(self, database: sqlite3.Connection, id_: str, value: dict[str, Any]) -> Iterator[Record]:
        found = database.execute(
            "SELECT queries.split, cited, papers.split FROM queries JOIN papers ON papers.id = citing "
            "WHERE queries.id = ?",
            (_storable(id_),),
        ).fetchone()
        if found is None:
            yield Malformed(f"no split names the context {id_}", "context_id", "context_of_no_split")
        elif found[0] != found[2]:
            reason = (
                f"the context {id_} is of {SPLITS[found[0]]}, others of its paper are of {SPLITS[found[2]]}"
            )
            yield Malformed(reason, "citing_id", "context_of_earlier_split")
        else:
            citing = text(value, "citing_id")
            yield ContextRecord(id_, citing, tuple(json.loads(found[1])), text(value, "masked_text"))


def published_files(path: Path) -> dict[str, Path]:
    """The files of a folder that have the names of the published ones, each under its name; the first of several.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.hatten import published_files
        >>> Path("part").mkdir()
        >>> _ = Path("part/papers.json").write_text("{}")
        >>> published_files(Path("part"))
        {'papers.json': PosixPath('part/papers.json')}
    """
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()) if path.is_dir() else []:
        if file.is_file() and file.suffix.lower() in (".json", *PACKED):
            files.setdefault(bare_name(file), file)
    return {name: files[name] for name in (*NEEDED, *SPLIT_FILES) if name in files}


def is_published(path: Path) -> bool:
    """Whether a folder holds papers, contexts and a split, and the contexts have the published form.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.hatten import is_published
        >>> Path("all").mkdir()
        >>> for name, content in {"papers": "{}", "test": "[]", "contexts": '{"c": {"masked_text": ""}}'}.items():
        ...     print(is_published(Path("all")))
        ...     _ = Path(f"all/{name}.json").write_text(content)
        False
        False
        False
        >>> is_published(Path("all"))
        True
    """
    files = published_files(path)
    if not (set(NEEDED) <= set(files) and set(SPLIT_FILES) & set(files)):
        return False
    try:
        with InputFile(files["contexts.json"]) as stream:
            _, value = next(json_entries(stream, SourcePosition()))
    except (InputError, StopIteration):
        return False
    return isinstance(value, dict) and "masked_text" in value


def _read(
    id_: str, value: dict[str, Any] | Malformed, read: Callable[[str, dict[str, Any]], Iterator[Record]]
) -> Iterator[Record]:
    """The record of one entry, or the report of what it is instead."""
    if isinstance(value, Malformed):
        yield value
    else:
        yield from read_records(value, lambda value: read(id_, value), within=id_)


def _storable(id_: str) -> str:
    """The id without halves of surrogate pairs, which the database does not take."""
    return id_.encode("utf-8", "backslashreplace").decode()

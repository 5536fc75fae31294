"""Tables in text: CSV, and the same with tabs or semicolons, one paper a row under a line of column names."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cocite.corpus.fields import PAPER
from cocite.corpus.importers.files import InputFile
from cocite.corpus.importers.record_reading import paper_of, read_records
from cocite.corpus.importers.ris import name_of
from cocite.corpus.importers.text_lines import in_utf8, text_lines
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.importers.whole_files import WholeFiles
from cocite.corpus.records import Malformed, Record, UnknownFields
from cocite.errors import InputError, nearest

DELIMITERS = {",": "CSV", "\t": "tab-separated", ";": "semicolon-separated"}
NEEDED = ("id", "title")
LISTS = ("authors", "keyphrases", "citations")
"""Fields whose cells hold several values, with semicolons between them."""
FIELDS = tuple(name for name in PAPER if name not in ("contexts", "sentences", "split"))


class Table(WholeFiles):
    """Papers in the rows of one or several files.

    Args:
        path: a file, or a folder of files with the same columns.
        columns: field of a paper -> its column; without it a column has its field's name, in any case.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.importers.table import Table
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "papers.csv")
        ...     _ = path.write_text('Key,Name,Authors\\nlee99,On BERT,"Lee, Ann; Bob Ray"\\n')
        ...     paper, = Table(path, {"id": "Key", "title": "Name", "authors": "Authors"})
        >>> paper.id, paper.title, paper.authors
        ('lee99', 'On BERT', ('Ann Lee', 'Bob Ray'))
    """

    format = "csv"
    suffixes = ".csv or .tsv"

    def __init__(self, path: Path, columns: Mapping[str, str] | None = None) -> None:
        super().__init__(path)
        self.columns = columns
        for file in self.files:
            with InputFile(file) as stream:
                head = next(text_lines(stream), "")
            self._places(file, _cells(head, delimiter_of(file, head)))

    def read(self, file: Path) -> Iterator[Record]:
        """The records of one file."""
        self.name_file(file)
        before = self.done
        with InputFile(file) as stream:
            lines = text_lines(stream)
            head = next(lines, "")
            delimiter = delimiter_of(file, head)
            names = _cells(head, delimiter)
            places, unknown = self._places(file, names)
            rows = csv.reader(lines, delimiter=delimiter)
            while True:
                self.position.line = rows.line_num + 2
                try:
                    row = next(rows)
                except StopIteration:
                    break
                except csv.Error as error:  # a cell without an end, or of more than 128 Ki characters
                    yield Malformed(f"the row cannot be read: {error}")
                    continue
                self.done = before + stream.bytes_read
                if not any(row):
                    continue
                if len(row) != len(names):
                    reason = f"the row has {len(row)} cells and the table {len(names)} columns"
                    yield Malformed(reason, excerpt=delimiter.join(row)[:200])
                    continue
                if unknown:
                    yield UnknownFields("paper", unknown)
                yield from _records({field: row[place] for field, place in places.items()})
        self.done = before + file.stat().st_size

    def _places(self, file: Path, names: Sequence[str]) -> tuple[dict[str, int], tuple[str, ...]]:
        """Field -> position of its column, and the names of the columns that are no field.

        Raises:
            InputError: a column is missing.
        """
        if self.columns is None:
            folded = [name.casefold() for name in names]
            wanted = {field: names[folded.index(field)] for field in FIELDS if field in folded}
            unknown = tuple(name for name in names if name.casefold() not in FIELDS)
        else:
            wanted, unknown = dict(self.columns), ()
        for field in NEEDED:
            if field not in wanted:
                raise InputError(
                    f"no column is the papers' {field}: there are {', '.join(names)[:300]}",
                    where=str(file),
                    hint="name the columns: --columns id=COLUMN,title=COLUMN",
                )
        for field, name in wanted.items():
            if name not in names:
                raise InputError(
                    f"no column is called {name!r}, for {field}", where=str(file), hint=nearest(name, names)
                )
        return {field: names.index(name) for field, name in wanted.items()}, unknown


def parse_columns(text: str) -> dict[str, str]:
    """Field -> column of ``field=column,...``.

    Raises:
        InputError: it is not of that form, or names no field of a paper, or one twice.

    Example:
        >>> parse_columns("id=Key,title=Document Title")
        {'id': 'Key', 'title': 'Document Title'}
    """
    columns: dict[str, str] = {}
    for part in text.split(","):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not column:
            raise InputError(f"{part!r} is not of the form field=column", where="--columns")
        if field not in FIELDS:
            raise InputError(
                f"a paper has no field {field!r}", where="--columns", hint=nearest(field, FIELDS)
            )
        if field in columns:
            raise InputError(f"the field {field!r} has two columns", where="--columns")
        columns[field] = column
    return columns


def delimiter_of(file: Path, head: str) -> str:
    """The delimiter that makes the most cells of a table's first line; a tab where the name says so."""
    if ".tsv" in file.name.lower():
        return "\t"
    return max(DELIMITERS, key=lambda delimiter: len(_cells(head, delimiter)))


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([in_utf8(line)[0]], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _records(cells: dict[str, str]) -> Iterator[Record]:
    """The paper of a row, after what is wrong with its encoding."""
    read = {field: in_utf8(cell.strip()) for field, cell in cells.items()}
    cells = {field: cell for field, (cell, _) in read.items()}
    yield from [hit for _, hit in read.values() if hit is not None][:1]
    values: dict[str, object] = {field: cell or None for field, cell in cells.items() if field not in LISTS}
    for field in LISTS:
        parts = [part.strip() for part in cells.get(field, "").split(";")]
        values[field] = [name_of(part) if field == "authors" else part for part in parts if part]
    doi = bare_doi(cells.get("doi", ""))
    names = {field: (field,) for field in LISTS}
    yield from read_records(values, lambda values: iter([paper_of(values, names, doi=doi)]))

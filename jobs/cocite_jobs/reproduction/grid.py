"""A table with the paper's own numbers beside it, in cells that a page can print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cocite.evaluation.report import Table, format_cell
from cocite_jobs.reproduction.published import PublishedNumber

OURS = "this corpus"
WIDEST = 13
"""More columns than these do not fit a page beside each other: the corpora stand below each other then."""


@dataclass(frozen=True)
class Grid:
    """Cells as text.

    Attributes:
        groups: headings above the columns, each with its number of columns; empty: none.
        columns: names of the columns; the first one's are the rows'.
        sections: heading of some rows (empty: none) and the rows.

    Example:
        >>> ours = Table("Table 2", ["method", "MRR"], [["BM25", 0.4]])
        >>> theirs = [PublishedNumber("table2", "BM25", "MRR", 0.425, "", "DBLP")]
        >>> grid = side_by_side(ours, theirs, {})
        >>> grid.groups, grid.columns, grid.sections
        ([('', 1), ('this corpus', 1), ('DBLP', 1)], ['method', 'MRR', 'MRR'], [('', [['BM25', '0.400', '0.425']])])
    """

    groups: list[tuple[str, int]]
    columns: list[str]
    sections: list[tuple[str, list[list[str]]]]

    def flat(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of one table: column names carry the groups, and a first column the sections."""
        groups = [name for name, count in self.groups for _ in range(count)] or [""] * len(self.columns)
        head = [
            f"{group}: {name}" if group else name for group, name in zip(groups, self.columns, strict=True)
        ]
        if len(self.sections) == 1:
            return head, self.sections[0][1]
        return ["corpus", *head], [[name, *row] for name, rows in self.sections for row in rows]

    def markdown(self) -> str:
        """As one table of Markdown."""
        columns, rows = self.flat()
        head, *lines = (
            "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in line) + " |"
            for line in [columns, *rows]
        )
        return "\n".join([head, "|" + " --- |" * len(columns), *lines])


def side_by_side(table: Table, published: Sequence[PublishedNumber], names: Mapping[str, str]) -> Grid:
    """A table and the numbers of the paper: beside each other where both fit a page, else below each other.

    Args:
        table: ours.
        published: the paper's numbers of this table.
        names: our name of a row or column -> the paper's, where they differ.
    """
    name_of = {str(row[0]): names.get(str(row[0]), str(row[0])) for row in table.rows}
    columns = [names.get(column, column) for column in table.columns[1:]]
    datasets = list(dict.fromkeys(number.dataset for number in published))
    cells = {(n.dataset, n.row, n.column): _cell(n) for n in published}
    places = {column: place for place, column in enumerate(columns)}
    theirs = {
        dataset: sorted(
            dict.fromkeys(n.column for n in published if n.dataset == dataset),
            key=lambda column: places.get(column, len(places)),
        )
        for dataset in datasets
    }
    ours = [[str(row[0]), *map(format_cell, row[1:])] for row in table.rows]
    if len(columns) + sum(map(len, theirs.values())) > WIDEST:
        return _stacked(table, ours, columns, datasets, published)
    known = set(name_of.values())
    lacking = [row for row in dict.fromkeys(n.row for n in published) if row not in known]
    rows = []
    for line in [*ours, *([row, *[""] * len(columns)] for row in lacking)]:
        paper_row = name_of.get(line[0], line[0])
        rows.append([*line, *(cells.get((d, paper_row, c), "") for d in datasets for c in theirs[d])])
    if not datasets:
        return Grid([], list(table.columns), [("", rows)])
    groups = [("", 1), (OURS, len(columns)), *((d, len(theirs[d])) for d in datasets)]
    return Grid(groups, [*table.columns, *(c for d in datasets for c in theirs[d])], [("", rows)])


def _stacked(
    table: Table,
    ours: list[list[str]],
    columns: Sequence[str],
    datasets: Sequence[str],
    published: Sequence[PublishedNumber],
) -> Grid:
    """The corpora below each other; a column that one lacks is empty there."""
    more = [c for c in dict.fromkeys(n.column for n in published) if c not in columns]
    sections = [(OURS, [[*row, *[""] * len(more)] for row in ours])]
    for dataset in datasets:
        rows: dict[str, dict[str, str]] = {}
        for number in published:
            if number.dataset == dataset:
                rows.setdefault(number.row, {})[number.column] = _cell(number)
        every = [*columns, *more]
        sections.append(
            (dataset, [[name, *(values.get(c, "") for c in every)] for name, values in rows.items()])
        )
    return Grid([], [table.columns[0], *table.columns[1:], *more], sections)


def _cell(number: PublishedNumber) -> str:
    """A number of the paper as ours are printed: whole numbers as such, and years without a comma."""
    value: Any = int(number.share) if float(number.share).is_integer() else number.share
    text = str(value) if number.unit == "year" else format_cell(value)
    return text if number.spread is None else f"{text}±{format_cell(number.spread)}"

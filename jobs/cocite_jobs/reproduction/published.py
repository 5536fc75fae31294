"""The numbers that the papers print: facts, copied from their texts into ``published/``, one row a number."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cocite.errors import IntegrityError

FOLDER = Path(__file__).parent / "published"
COLUMNS = ("table", "row", "column", "value", "unit", "dataset")
DEVIATION = "deviation"
"""A further column of papers that print the standard deviation over their trials."""
Unit = Literal["", "%", "ms", "year"]
UNITS: tuple[str, ...] = get_args(Unit)


@dataclass(frozen=True)
class PublishedNumber:
    """A number as a paper prints it.

    Attributes:
        table: id of the table, as ``table4``.
        row, column: where it stands.
        value: as printed.
        unit: ``%``: a hundredth of what is printed is the share; ``ms``: milliseconds; ``year``: a year; empty: none.
        dataset: the corpus that it is of, by the paper's name.
        deviation: the standard deviation that is printed behind it, in the same unit; None: none is.

    Example:
        >>> PublishedNumber("table3", "W2V", "R@10 >= 1", 17.13, "%", "ACL").share
        0.1713
    """

    table: str
    row: str
    column: str
    value: float
    unit: Unit
    dataset: str
    deviation: float | None = None

    @property
    def share(self) -> float:
        """The number in our unit: shares of 1, milliseconds, counts."""
        return round(self.value / 100, 6) if self.unit == "%" else self.value

    @property
    def spread(self) -> float | None:
        """The deviation in our unit."""
        if self.deviation is None or self.unit != "%":
            return self.deviation
        return round(self.deviation / 100, 6)


def published_numbers(paper: str) -> list[PublishedNumber]:
    """All numbers of a paper that are kept here, in its order.

    Raises:
        IntegrityError: the file that comes with cocite is damaged.

    Example:
        >>> [n.value for n in published_numbers("citeomatic") if (n.table, n.row) == ("table4", "5")]
        [0.142, 0.08, 144.0]
    """
    path = FOLDER / f"{paper}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(_parse(csv.DictReader(file), path))


def _parse(rows: csv.DictReader[str], path: Path) -> Iterable[PublishedNumber]:
    if tuple(rows.fieldnames or ()) not in (COLUMNS, (*COLUMNS, DEVIATION)):
        raise IntegrityError(f"has not the columns {', '.join(COLUMNS)}", where=str(path))
    for number, row in enumerate(rows, 2):
        try:
            value = float(row["value"])
            deviation = float(row[DEVIATION]) if row.get(DEVIATION) else None
        except (TypeError, ValueError) as error:
            raise IntegrityError(f"{row['value']!r} is no number", where=f"{path}, line {number}") from error
        if row["unit"] not in UNITS:
            raise IntegrityError(f"{row['unit']!r} is no unit", where=f"{path}, line {number}")
        place = (row["table"], row["row"], row["column"])
        yield PublishedNumber(*place, value, row["unit"], row["dataset"], deviation)  # type: ignore[arg-type]

"""The tables that a reproduction has made, one small file for each, so that no run makes them twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cocite.errors import IntegrityError
from cocite.evaluation.report import MarkedFloat, Table
from cocite_jobs.steps.parts import FinishedParts, Part
from cocite_jobs.storage.location import Location


@dataclass(frozen=True)
class MadeExhibit:
    """A table with how it was made.

    Attributes:
        id: of the exhibit.
        table: its cells.
        seconds: that it took, without the trainings.
        models: the artifacts that it measured, see :func:`~cocite_jobs.reproduction.training_step.model_facts`.

    Example:
        >>> table = Table("Table 2", ["method", "MRR"], [["BM25", MarkedFloat(0.4, "*")]])
        >>> made = MadeExhibit("table2", table, 1.5, [])
        >>> again = MadeExhibit.parse(made.json())
        >>> again == made, again.table.rows[0][1].mark
        (True, '*')
    """

    id: str
    table: Table
    seconds: float
    models: Sequence[Mapping[str, Any]]

    def json(self) -> dict[str, Any]:
        """As an object of JSON; a cell with a mark is a list of both."""
        data = asdict(self) | {"models": [dict(model) for model in self.models]}
        data["table"]["rows"] = [[_plain(cell) for cell in row] for row in self.table.rows]
        return data

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> MadeExhibit:
        """Of such an object.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        table = dict(data["table"])
        table["rows"] = [[_cell(value) for value in row] for row in table["rows"]]
        return cls(str(data["id"]), Table(**table), float(data["seconds"]), list(data["models"]))


class Records:
    """The records of a reproduction's folder.

    Args:
        folder: holds the files.

    Example:
        >>> import tempfile
        >>> made = MadeExhibit("table1", Table("Table 1", ["what", "value"], [["papers", 5]]), 0.1, [])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     records = Records(Location.of(folder))
        ...     records.add("key", made)
        ...     records.find("key", "table1") == made, records.find("another key", "table1")
        (True, None)
    """

    def __init__(self, folder: Location) -> None:
        self.folder = folder

    def find(self, key: str, id_: str) -> MadeExhibit | None:
        """The exhibit that was made under a key: of the same corpus, models and settings.

        Raises:
            IntegrityError: its file is damaged.
        """
        data = FinishedParts(self.folder, key).read().get(id_)
        if data is None:
            return None
        try:
            return MadeExhibit.parse(data)
        except (KeyError, TypeError, ValueError) as error:
            raise IntegrityError(
                "is no record of a table",
                where=(self.folder / f"{id_}.json").uri,
                hint="remove it: the table is made again",
            ) from error

    def add(self, key: str, made: MadeExhibit) -> None:
        """Record an exhibit."""
        FinishedParts(self.folder, key).add(Part(made.id, 1), made.json())


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return [float(cell), cell.mark] if isinstance(cell, MarkedFloat) else cell


def _cell(value: Any) -> Any:
    if value is None:
        return math.nan
    return MarkedFloat(value[0], value[1]) if isinstance(value, list) else value

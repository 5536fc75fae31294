"""The tables of several trials as one: the mean of each number, and its standard deviation."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cocite.evaluation.report import MarkedFloat, Table, format_cell
from cocite_jobs.reproduction.record import MadeExhibit

Place = tuple[str, int]
"""Name of a row, and how many rows above it have that name."""


@dataclass(frozen=True)
class Trials:
    """One exhibit, made by several trials.

    Attributes:
        made: seed of a trial -> its table; at least one.

    Example:
        >>> tables = [Table("Table 2", ["method", "MRR"], [["NNSelect", mrr]]) for mrr in (0.3, 0.4)]
        >>> trials = Trials({seed: MadeExhibit("table2", tables[seed], 1.0, []) for seed in (0, 1)})
        >>> [format_cell(cell) for cell in trials.table.rows[0]], trials.deviations.records()
        (['NNSelect', '0.350±0.071'], [{'method': 'NNSelect', 'MRR': 0.070711}])
    """

    made: Mapping[int, MadeExhibit]

    @cached_property
    def _cells(self) -> dict[Place, dict[str, Any]]:
        """Row -> column -> what stands there for all trials, in the order in which trials first have them."""
        found: dict[Place, dict[str, list[Any]]] = {}
        for made in self.made.values():
            for place, row in _rows_by_name(made.table).items():
                cells = found.setdefault(place, {})
                for column, cell in zip(made.table.columns[1:], row[1:], strict=True):
                    cells.setdefault(column, []).append(cell)
        return {
            place: {column: _combined(cells) for column, cells in columns.items()}
            for place, columns in found.items()
        }

    @property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(column for made in self.made.values() for column in made.table.columns))

    @cached_property
    def table(self) -> Table:
        """The means, with their deviations behind them in text; what all trials agree on is as they have it."""
        first = next(iter(self.made.values())).table
        names = {
            place: row[0] for made in self.made.values() for place, row in _rows_by_name(made.table).items()
        }
        rows = [
            [names[place], *(cells.get(column, math.nan) for column in self._columns[1:])]
            for place, cells in self._cells.items()
        ]
        seeds = ", ".join(map(str, self.made))
        notes = [
            f"Mean ± standard deviation (of the sample, n - 1) over the trials of the seeds {seeds}; "
            "what has no deviation was the same in each trial."
        ]
        if any(
            isinstance(c, MarkedFloat) and c.mark
            for m in self.made.values()
            for row in m.table.rows
            for c in row
        ):
            notes.append("A mark stands where each trial has it.")
        if self._is_uneven:
            notes.append("Where a trial lacks a row or a number, the others alone are averaged.")
        return Table(first.title, self._columns, rows, " ".join(filter(None, [first.note, *notes])))

    @cached_property
    def deviations(self) -> Table:
        """The standard deviation of each number of :attr:`table`; not a number where it has none."""
        rows = [
            [row[0], *(getattr(cell, "deviation", math.nan) for cell in row[1:])] for row in self.table.rows
        ]
        return Table(self.table.title, self._columns, rows)

    @property
    def combined(self) -> MadeExhibit:
        """The exhibit of all trials: their seconds together, and each trial's models below its folder."""
        models = [
            {**model, "model": f"{trial_folder(seed)}/{model['model']}"}
            for seed, made in self.made.items()
            for model in made.models
        ]
        id_ = next(iter(self.made.values())).id
        return MadeExhibit(id_, self.table, sum(made.seconds for made in self.made.values()), models)

    @property
    def _is_uneven(self) -> bool:
        numbers = Counter(
            (place, column)
            for made in self.made.values()
            for place, row in _rows_by_name(made.table).items()
            for column, cell in zip(made.table.columns[1:], row[1:], strict=True)
            if not _is_number(cell) or math.isfinite(cell)
        )
        return any(count != len(self.made) for count in numbers.values())


class TrialMean(MarkedFloat):
    """A mean that is printed with its deviation, as ``0.282±0.002``.

    Example:
        >>> mean = TrialMean.of([0.25, 0.35], "*")
        >>> format_cell(mean), mean.deviation
        ('0.300±0.071*', 0.070711)
    """

    deviation: float

    @classmethod
    def of(cls, values: Sequence[float], mark: str = "") -> TrialMean:
        """The mean of two numbers or more."""
        deviation = round(statistics.stdev(values), 6)
        self = cls(statistics.fmean(values), f"±{format_cell(deviation)}{mark}")
        self.deviation = deviation
        return self


def trial_folder(seed: int) -> str:
    """Name of the folder of a trial below the reproduction's.

    Example:
        >>> trial_folder(3)
        'seed-3'
    """
    return f"seed-{seed}"


def _rows_by_name(table: Table) -> dict[Place, list[Any]]:
    seen: Counter[str] = Counter()
    rows = {}
    for row in table.rows:
        name = str(row[0])
        rows[name, seen[name]] = row
        seen[name] += 1
    return rows


def _combined(cells: Sequence[Any]) -> Any:
    """What stands for the cells of several trials."""
    if not all(map(_is_number, cells)):
        return " / ".join(dict.fromkeys(map(format_cell, cells)))
    finite = [cell for cell in cells if math.isfinite(cell)]
    marks = {cell.mark if isinstance(cell, MarkedFloat) else "" for cell in cells}
    mark = marks.pop() if len(marks) == 1 else ""
    if len(set(map(float, finite))) > 1:
        return TrialMean.of([float(cell) for cell in finite], mark)
    value = finite[0] if finite else math.nan
    return MarkedFloat(float(value), mark) if isinstance(value, MarkedFloat) else value


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)

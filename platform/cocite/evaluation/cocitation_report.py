"""MP-BERT4CR's tables from the hits of systems: Table 3's column of a corpus, Table 4, and the co-citation slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from cocite.corpus.history import History
from cocite.evaluation.cocitation import (
    COCITATIONS,
    METRICS,
    POSITIVES,
    by_cocitations,
    by_positives,
    largest_cocitations,
)
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Measurement, measure
from cocite.evaluation.report import MarkedFloat, Table, mark, name_of_test


class CocitationTables:
    """The tables of some systems, measured on the same queries.

    Args:
        baselines: hits of the systems that others are tested against, by name.
        models: hits of the others, by name.
        history: in which co-citations are counted.

    Example:
        >>> import numpy as np
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.protocols import Ranking
        >>> history = History.all(starter_corpus())
        >>> hits = Hits.of(Ranking(np.array([[3, 8], [5, 9]], np.int32), np.zeros((2, 2), np.float32)), [[8], [1]])
        >>> tables = CocitationTables({"bm25": hits}, {}, history)
        >>> tables.table3().records()[0]["MAP@10 >= 1"]
        0.25
    """

    def __init__(self, baselines: Mapping[str, Hits], models: Mapping[str, Hits], history: History) -> None:
        self.baselines, self.models, self.history = dict(baselines), dict(models), history
        self._measured: dict[str, dict[str, Measurement]] = {
            name: {part: measure(sliced, METRICS) for part, sliced in by_positives(hits).items()}
            for name, hits in {**self.baselines, **self.models}.items()
        }

    @cached_property
    def best(self) -> dict[tuple[str, str], str]:
        """The best baseline of each (part, metric); empty without baselines."""
        if not self.baselines:
            return {}
        return {
            (part, metric): max(self.baselines, key=lambda name: self._value(name, part, metric))
            for part in POSITIVES
            for metric in METRICS
        }

    def table3(self) -> Table:
        """Every system by the number of positives; models are tested against the best baseline of each column."""
        rows = [self._row(name, self.best if name in self.models else {}) for name in self._measured]
        legend = f"* better, - worse than the best baseline of the column ({self._test})."
        return Table(
            "Table 3: positives", self._columns, rows, f"{legend} {self._sizes}" if self.best else self._sizes
        )

    def table4(self, variants: Sequence[str], against: str | None) -> Table:
        """The best baseline of each column, and variants of one model.

        Args:
            variants: names of models.
            against: the one among them that the others are tested against.
        """
        rows: list[list[Any]] = []
        if self.best:
            values = [self._measured[name][part].means[metric] for (part, metric), name in self.best.items()]
            rows.append(["best baseline", *map(MarkedFloat, values)])
        marked = dict.fromkeys(((p, m) for p in POSITIVES for m in METRICS), against) if against else {}
        rows += [self._row(name, marked if name != against else {}) for name in variants]
        note = f"* better, - worse than {against} ({self._test})." if against else ""
        return Table("Table 4: objectives", self._columns, rows, note)

    def slices(self) -> Table:
        """Every system by how often the relevant papers were cited together before."""
        rows, sizes = [], {}
        for name, hits in {**self.baselines, **self.models}.items():
            parts = by_cocitations(hits, largest_cocitations(hits, self.history))
            sizes = {part.name.removeprefix("co-cited "): part.queries for part in parts}
            rows.append([name, *(part.means[metric] for part in parts for metric in METRICS)])
        columns = [f"{metric} {name}" for name, _, _ in COCITATIONS for metric in METRICS]
        counts = ", ".join(f"{name}: {count:,}" for name, count in sizes.items())
        note = (
            "Queries with two or more relevant papers; a paper's part is the most contexts of the history that cite it "
            f"with another one of the query, and each part counts only its own as relevant. Queries: {counts}."
        )
        return Table("co-citation frequency", ["system", *columns], rows, note)

    # -- cells -----------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> list[str]:
        return ["system", *(f"{metric} {part}" for part in POSITIVES for metric in METRICS)]

    @property
    def _sizes(self) -> str:
        first = next(iter(self._measured.values()))
        return "Queries: " + ", ".join(f"{part}: {first[part].queries:,}" for part in POSITIVES) + "."

    @property
    def _test(self) -> str:
        return name_of_test(next(iter(self._measured.values())).values())

    def _value(self, name: str, part: str, metric: str) -> float:
        value = self._measured[name][part].means[metric]
        return -math.inf if math.isnan(value) else value

    def _row(self, name: str, against: Mapping[tuple[str, str], str]) -> list[Any]:
        cells = []
        for part in POSITIVES:
            for metric in METRICS:
                base = against.get((part, metric))
                cells.append(
                    mark(self._measured[name][part], self._measured[base][part] if base else None, metric)
                )
        return [name, *cells]

"""The results of an evaluation as tables: for a terminal, as JSON and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Measurement, Metric
from cocite.evaluation.significance import Comparison, compare
from cocite.evaluation.slices import SelfCitation, Slice, by_in_citations, by_label, by_positives

SLICED = ("MRR", "R@10", "R@100", "MAP@10")
"""Metrics of each slice of the queries."""
SELF_CITATION_DEPTHS = (1, 5, 10, 20, 50, 100)
"""Cut-offs of the self-citation table."""
SIGNIFICANT = 0.05
"""p below which a difference is marked."""
VENUES = 10
"""How many venues a table has (as Citeomatic's Figure 3)."""


class MarkedFloat(float):
    """A number with a mark of significance behind it in text, as ``0.603*``; a plain number in JSON.

    Example:
        >>> value = MarkedFloat(0.6034, "*")
        >>> format_cell(value), value * 2
        ('0.603*', 1.2068)
    """

    mark: str = ""

    def __new__(cls, value: float, mark: str = "") -> MarkedFloat:
        """A value with its mark."""
        self = super().__new__(cls, value)
        self.mark = mark
        return self


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns; the first column names the row.

    Example:
        >>> table = Table("metrics", ["system", "MRR"], [["bm25", 0.3681]])
        >>> table.records()
        [{'system': 'bm25', 'MRR': 0.3681}]
        >>> print(table.markdown())
        ### metrics
        <BLANKLINE>
        | system | MRR |
        | --- | --- |
        | bm25 | 0.368 |
        <BLANKLINE>
    """

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""

    def records(self) -> list[dict[str, Any]]:
        """The rows as JSON objects; numbers that are not finite are null."""
        return [
            {column: _plain(cell) for column, cell in zip(self.columns, row, strict=True)}
            for row in self.rows
        ]

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [f"### {self.title}", ""]
        lines += ["| " + " | ".join(self.columns) + " |", "|" + " --- |" * len(self.columns)]
        lines += [
            "| " + " | ".join(format_cell(cell).replace("|", "\\|") for cell in row) + " |"
            for row in self.rows
        ]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])


@dataclass
class Report:
    """Tables with the facts of how they were made.

    Example:
        >>> report = Report("local task", {"queries": 200}, [Table("metrics", ["system", "MRR"], [["bm25", 0.5]])])
        >>> report.metrics()
        {'metrics/bm25/MRR': 0.5}
    """

    title: str
    facts: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """One JSON document."""
        facts = {key: _plain(value) for key, value in self.facts.items()}
        return {
            "title": self.title,
            **facts,
            "tables": {table.title: table.records() for table in self.tables},
        }

    def markdown(self) -> str:
        """One Markdown document."""
        facts = "\n".join(
            f"- {key.replace('_', ' ')}: {format_cell(value)}" for key, value in self.facts.items()
        )
        return f"## {self.title}\n\n{facts}\n\n" + "\n".join(table.markdown() for table in self.tables)

    def metrics(self) -> dict[str, float]:
        """Every finite number of the tables by ``table/row/column``, for experiment tracking."""
        return {
            f"{table.title}/{row[0]}/{column}": float(cell)
            for table in self.tables
            for row in table.rows
            for column, cell in zip(table.columns[1:], row[1:], strict=True)
            if isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell)
        }


def format_cell(cell: Any) -> str:
    """A cell as text: three decimals, thousands separated, a dash for NaN.

    Example:
        >>> format_cell(0.36812), format_cell(20299), format_cell(float("nan"))
        ('0.368', '20,299', '–')
    """
    if isinstance(cell, float):
        if math.isnan(cell):
            return "–"
        text = f"{cell:.3f}" if abs(cell) < 100 else f"{cell:.0f}"
        return text + cell.mark if isinstance(cell, MarkedFloat) else text
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def metrics_table(measured: Mapping[str, Measurement], title: str = "metrics") -> Table:
    """One row a system, one column a metric."""
    first = next(iter(measured.values()))
    rows = [[name, m.queries, *m.means.values()] for name, m in measured.items()]
    return Table(title, ["system", "queries", *first.means], rows)


def marked_table(
    title: str,
    measured: Mapping[str, Measurement],
    baseline: str,
    *,
    more: Mapping[str, Sequence[Any]] | None = None,
    note: str = "",
) -> Table:
    """One row a system; ``*`` marks what is better than the baseline, ``-`` what is worse (paired t-test, p < 0.05).

    The test is over citing papers where these are known (:func:`~cocite.evaluation.significance.compare`).

    Args:
        title: of the table.
        measured: systems, judged on the same queries.
        baseline: the system that the others are tested against.
        more: further columns, a cell for each system in order.
        note: added to the one that explains the marks.
    """
    base = measured[baseline]
    rows = [
        [name, *(mark(m, base if name != baseline else None, metric) for metric in base.means)]
        for name, m in measured.items()
    ]
    for column in (more or {}).values():
        for row, cell in zip(rows, column, strict=True):
            row.append(cell)
    legend = f"* better, - worse than {baseline} ({name_of_test([base])})."
    notes = " ".join(filter(None, (legend, note_on_f1(base.means), note)))
    return Table(title, ["system", *base.means, *(more or {})], rows, notes)


def note_on_f1(metrics: Iterable[str]) -> str:
    """What a legend of marks says of F1, which a table makes of the means of precision and recall; else nothing.

    Example:
        >>> note_on_f1(["MRR", "F1@20"])
        "The mark of an F1 is that of the mean of the queries' own F1."
        >>> note_on_f1(["MRR"])
        ''
    """
    has_f1 = any(Metric.parse(metric).kind == "F1" for metric in metrics)
    return "The mark of an F1 is that of the mean of the queries' own F1." if has_f1 else ""


def name_of_test(measured: Iterable[Measurement]) -> str:
    """What a legend calls the test behind its marks: over citing papers where several queries come from one.

    Example:
        >>> values = {"MRR": np.array([0.5, 1.0])}
        >>> name_of_test([Measurement(2, {"MRR": 0.75}, values)])
        'paired t-test, p < 0.05'
        >>> name_of_test([Measurement(2, {"MRR": 0.75}, values, np.array([4, 4]))])
        'paired t-test over citing papers, p < 0.05'
    """
    over = " over citing papers" if any(each.is_grouped for each in measured) else ""
    return f"paired t-test{over}, p < {SIGNIFICANT}"


def mark(measured: Measurement, base: Measurement | None, metric: str) -> MarkedFloat:
    """A value of a system with the mark of its difference from a base; without one where there is nothing to test.

    Args:
        measured: the system.
        base: what it is tested against, on the same queries; None: nothing.
        metric: the value's.

    Example:
        >>> few, many = (Measurement(3, {"MRR": v.mean()}, {"MRR": v}) for v in (np.arange(3) / 9, np.ones(3)))
        >>> format_cell(mark(many, few, "MRR")), format_cell(mark(many, None, "MRR"))
        ('1.000*', '1.000')
    """
    value = measured.means[metric]
    if base is None or measured.papers < 2:
        return MarkedFloat(value)
    difference = compare(measured.per_query[metric], base.per_query[metric], measured.citing)
    sign = "*" if difference.difference > 0 else "-"
    return MarkedFloat(value, sign if difference.p < SIGNIFICANT else "")


def slices_table(title: str, slices: Sequence[Slice], metrics: Sequence[str], note: str = "") -> Table:
    """One row a slice of the queries."""
    rows = [
        [part.name, part.queries, *(part.means[str(Metric.parse(name))] for name in metrics)]
        for part in slices
    ]
    return Table(title, ["slice", "queries", *(str(Metric.parse(name)) for name in metrics)], rows, note)


def slice_tables(
    hits: Hits,
    *,
    years: Sequence[int | None] | None = None,
    venues: Sequence[str] | None = None,
    in_citations: NDArray[np.int32] | None = None,
    metrics: Sequence[str] = SLICED,
) -> list[Table]:
    """The tables of all slices for which the data are given.

    Args:
        hits: of Q queries.
        years: of the queries.
        venues: of the queries.
        in_citations: (N,) in-citations of each paper in the history.
        metrics: of each slice.
    """
    tables = [slices_table("positives", by_positives(hits, metrics), metrics)]
    if years is not None:
        labels = ["" if year is None else str(year) for year in years]
        tables.append(slices_table("year", by_label(hits, labels, metrics), metrics))
    if venues is not None:
        tables.append(slices_table("venue", by_label(hits, venues, metrics, limit=VENUES), metrics))
    if in_citations is not None:
        note = "Each part counts only its own papers as relevant."
        tables.append(
            slices_table("in-citations", by_in_citations(hits, in_citations, metrics), metrics, note)
        )
    return tables


def self_citation_table(bias: SelfCitation) -> Table:
    """The ranks of same-author papers, at some cut-offs."""
    rows = [
        [n, int(bias.queries[n - 1]), float(bias.mean_rank[n - 1]), float(bias.max_rank[n - 1])]
        for n in SELF_CITATION_DEPTHS
        if n <= len(bias.queries)
    ]
    note = "Ranks of papers that share an author with the manuscript; a low rank is a bias towards them."
    return Table("self-citation", ["first", "queries", "mean rank", "max rank"], rows, note)


def comparison_table(first: Measurement, second: Measurement, names: tuple[str, str]) -> Table:
    """The paired t-test of each metric of two runs on the same queries.

    Where one citing paper asks them all there is no test: the table has the means, and says so in place of p.

    Args:
        first: a run.
        second: what it is tested against.
        names: of the two, for the columns.

    Example:
        >>> one = np.array([3, 3])
        >>> first, second = (Measurement(2, {"MRR": v.mean()}, {"MRR": v}, one) for v in (np.ones(2), np.zeros(2)))
        >>> comparison_table(first, second, ("a", "b")).records()[0]["p"]
        'no test: one citing paper'
    """
    columns = ["metric", names[0], names[1], "difference", "95 % interval", "t", "p", "Cohen's d", "queries"]
    compared, over = _tested if first.papers > 1 else _untested, "per-query values"
    if first.is_grouped:
        over = f"the {first.papers:,} citing papers of the queries"
    rows = [
        [metric, *compared(first, values, second.per_query[metric])]
        for metric, values in first.per_query.items()
    ]
    note = f"Paired two-sided t-test over {over}; the mean of F1 here is that of the queries' own F1."
    if compared is _untested:
        note = (
            f"A paired test needs queries of at least two citing papers; these have {first.papers}. "
            "The mean of F1 here is that of the queries' own F1."
        )
    return Table("significance", columns, rows, note)


def _tested(measured: Measurement, values: NDArray[np.float64], others: NDArray[np.float64]) -> list[Any]:
    """The cells of a metric whose difference is tested."""
    c: Comparison = compare(values, others, measured.citing)
    interval = f"[{c.low:.3f}, {c.high:.3f}]"
    return [c.mean, c.other, c.difference, interval, c.t, _p(c.p), c.d, c.queries]


def _untested(measured: Measurement, values: NDArray[np.float64], others: NDArray[np.float64]) -> list[Any]:
    """The cells of a metric whose difference cannot be tested, for want of a second paper."""
    judged = values[~np.isnan(values)]
    mean, other = (float(judged.mean()), float(np.nanmean(others))) if len(judged) else (math.nan, math.nan)
    why = "one citing paper" if measured.is_grouped else "one query" if measured.queries else "no query"
    return [mean, other, mean - other, "–", math.nan, f"no test: {why}", math.nan, len(judged)]


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _plain(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell

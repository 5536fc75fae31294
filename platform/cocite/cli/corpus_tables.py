"""The tables that ``cocite corpus`` prints of a store: its counts, its characteristics, and the rules that were hit."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from cocite.cli.console import out, print_json, print_table


def print_stats(title: str, facts: dict[str, Any]) -> None:
    """Print what :func:`cocite.corpus.stats.describe` gives."""
    print_table(title, ["", "count"], [(name, f"{n:,}") for name, n in facts["counts"].items()])
    columns = [facts["splits"], *facts["by_split"].values()]
    rows = [(name, *(f"{column[name]:,}" for column in columns)) for name in facts["splits"]]
    print_table("splits", ["split", "papers", *facts["by_split"]], rows)
    for name, what in (("out_degree", "citations of a paper"), ("in_degree", "citations to a paper")):
        print_table(what, list(facts[name]), [[f"{value:g}" for value in facts[name].values()]])
    top = max(facts["years"].values(), default=1)
    bars = [(year, f"{n:,}", "█" * max(round(40 * n / top), 1)) for year, n in facts["years"].items()]
    grid = Table(title="papers by year", title_justify="left")
    for column, justify in (("year", "left"), ("papers", "right"), ("", "left")):
        grid.add_column(column, justify=justify)  # type: ignore[arg-type]
    for row in bars:
        grid.add_row(*map(str, row))
    out.print(grid, soft_wrap=False)
    print_rules(facts["rules"], facts["samples"], facts["unknown_fields"])


def print_characteristics(title: str, corpus: Any, as_json: bool) -> None:
    """Print what Citeomatic's Table 1 counts of a store, beside the numbers of the paper."""
    from cocite.corpus.characteristics import PUBLISHED, STATISTICS, characteristics, shown

    found = characteristics(corpus)
    if as_json:
        print_json({"version": corpus.version, "characteristics": found, "published": PUBLISHED})
        return
    rows = [
        (what, shown(key, found[key]), *(numbers.get(key, "–") for numbers in PUBLISHED.values()))
        for key, what in STATISTICS.items()
    ]
    print_table("characteristics, as in Table 1 of Citeomatic", ["", title, *PUBLISHED], rows)


def print_rules(
    counts: dict[str, int], samples: dict[str, list[dict[str, Any]]], unknown: list[dict[str, Any]]
) -> None:
    """Print how often each rule was hit, with the first place, and the fields that the format does not have."""
    from cocite.corpus.rules import RULES
    from cocite.corpus.streams import SourcePosition

    hits = [(name, n) for name, n in counts.items() if n]
    if not hits:
        out.print("no rule was hit: every record and link is in the store")
        return
    rows = []
    for name, n in hits:
        sample = next(iter(samples.get(name, [])), {})
        where = str(SourcePosition(sample.get("file", ""), sample.get("line", 0)))
        rows.append((RULES[name].finds, name, RULES[name].action, f"{n:,}", where))
    print_table("rules", ["what", "rule", "then", "hits", "first at"], rows)
    if unknown:
        columns = ["field", "of a", "hits", "first at", "did you mean"]
        fields = [
            (entry["field"], entry["record"], f"{entry['count']:,}", entry["first"], entry["suggestion"])
            for entry in unknown
        ]
        print_table("unknown fields, which are not in the store", columns, fields)

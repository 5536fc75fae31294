"""Table 1 of each paper: what its corpus holds."""

from __future__ import annotations

from cocite_jobs.reproduction.plan import Exhibit, Setup
from cocite_jobs.tables.corpus_statistics import corpus_table


def corpus_exhibit(setup: Setup, paper: str) -> Exhibit:
    """Table 1, which needs no training.

    Args:
        setup: of the reproduction.
        paper: its name.
    """
    return Exhibit(
        "table1",
        "Table 1: statistics of the corpus",
        lambda setup: corpus_table(setup.corpus, paper),
        setup.command("reproduce", paper, "--size", setup.size, "--only", "table1"),
    )

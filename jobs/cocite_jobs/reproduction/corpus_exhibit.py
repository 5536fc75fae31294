"""Table 1 of each paper: what its corpus holds."""

from __future__ import annotations

from cocite_jobs.reproduction.plan import Exhibit, Setup
from cocite_jobs.tables.corpus_statistics import corpus_table


def corpus_exhibit(setup: Setup, paper: str) -> Exhibit:
    """Table 1, which needs no training.

    Its command is that of the reproduction itself, which refuses a folder of other options than its own.

    Args:
        setup: of the reproduction.
        paper: its name.
    """
    line = ["reproduce", paper, "--size", setup.size, "--only", "table1"]
    return Exhibit(
        "table1",
        "Table 1: statistics of the corpus",
        lambda setup: corpus_table(setup.corpus, paper),
        setup.command(*line, *_options(setup)),
        # No option changes what is counted.
        determined_by=setup.command(*line),
    )


def _options(setup: Setup) -> list[object]:
    """What else names a reproduction: with other options its folder is refused, or other tables leave the page."""
    if setup.trials:
        options: list[object] = ["--to", setup.folder.parent, "--seeds", ",".join(map(str, setup.trials))]
    else:
        options = ["--to", setup.folder, "--seed", setup.seed]
    if setup.sample is not None:
        options += ["--sample", setup.sample]
    if setup.min_citations is not None:
        options += ["--min-citations", setup.min_citations]
    for encoder in setup.encoders:
        options += ["--encoder", encoder]
    for change in setup.settings:
        options += ["--change", change]
    return options

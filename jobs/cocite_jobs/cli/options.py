"""Options that several commands of this package share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ALIAS = "candidate"
"""Alias of a registered model where ``--register`` names none."""

RegisterOption = Annotated[
    str | None,
    typer.Option(
        "--register", metavar="NAME[@ALIAS]", help=f"Register the model in MLflow [default alias: {ALIAS}]."
    ),
]

# -- cocite evaluate ------------------------------------------------------------------------------------------

SplitOption = Annotated[str, typer.Option(help="Split whose papers are the queries: test, dev or train.")]
SampleOption = Annotated[
    int | None,
    typer.Option(min=1, max=1_000_000_000, help="Number of queries, drawn with the seed [default: all]."),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the query sample.")]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        help="Index folder of the corpus that knows all links, or those before the split: its vectors are not made "
        "again."
    ),
]
RunsOption = Annotated[Path | None, typer.Option(help="Folder for TREC runs, qrels and the report.")]
MarkdownOption = Annotated[Path | None, typer.Option(help="File to write the tables to in Markdown.")]
TrackingOption = Annotated[
    Path, typer.Option(help="Folder of MLflow's store, unless MLFLOW_TRACKING_URI is set.")
]
TrackOption = Annotated[bool, typer.Option(help="Log the result to MLflow.")]

"""``cocite evaluate controls``: MP-BERT4CR's controls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import progress_bar
from cocite.cli.locations import with_local_paths
from cocite.cli.options import (
    CorpusOption,
    JsonOption,
    NoVerifyOption,
    OverridesArgument,
    SampleOption,
    SeedOption,
)
from cocite_jobs.cli.options import MarkdownOption, SplitOption, TrackingOption, TrackOption
from cocite_jobs.cli.reports import log_report, open_corpus, print_report


@with_local_paths
def controls(
    corpus: CorpusOption,
    model: Annotated[Path, typer.Option(help="Model folder; its controls/ keeps what is trained.")],
    overrides: OverridesArgument = None,
    rows: Annotated[
        str | None, typer.Option(help="Some of the controls, separated by semicolons [default: all].")
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds of the trainings, separated by commas.")] = "0,1,2",
    split: SplitOption = "test",
    sample: SampleOption = None,
    seed: SeedOption = 0,
    cache: Annotated[
        Path, typer.Option(help="Folder that keeps trained baselines and encoded papers.")
    ] = Path("cocite-baselines"),
    markdown: MarkdownOption = None,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Train MP-BERT4CR's controls with several seeds, those that are missing, and print their tables.

    The controls are the form of the loss by the number of positives, and the hierarchy against words only, none,
    a fixed draw and no abstract.
    """
    from cocite.destinations import check_file_destination
    from cocite.errors import InputError
    from cocite_jobs.tables.cocitation_controls import control_tables, train_controls
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_file_destination(markdown)
    try:
        numbers = [int(text) for text in seeds.split(",")]
    except ValueError as error:
        raise InputError(
            f"reads {seeds!r}, and not numbers with commas between", where="--seeds", hint="0,1,2"
        ) from error
    opened = open_corpus(corpus, split)
    chosen = [name.strip() for name in rows.split(";") if name.strip()] if rows else None
    folders = train_controls(
        opened, model, rows=chosen, seeds=numbers, overrides=overrides or (), bars=progress_bar
    )
    params = {"split": split, "sample": sample or "all", "seed": seed, "seeds": seeds, "rows": rows or "all"}
    where = TrackingSettings(folder=tracking, enabled=track)
    tags = {"corpus": opened.version, "models": str(model)}
    with start_run(f"controls-{split}", experiment="tables", params=params, tags=tags, tracking=where) as run:
        report = control_tables(
            opened, folders, split=split, sample=sample, seed=seed, cache=cache, bars=progress_bar
        )
        log_report(run, report)
    print_report(report, as_json, markdown)

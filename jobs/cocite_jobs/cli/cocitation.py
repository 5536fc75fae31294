"""``cocite evaluate cocitation``: MP-BERT4CR's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cocite.cli.console import progress_bar
from cocite.cli.locations import with_local_paths
from cocite.cli.options import CorpusOption, JsonOption, NoVerifyOption, SampleOption, SeedOption
from cocite_jobs.cli.options import (
    BaselineSettingOption,
    IndexOption,
    MarkdownOption,
    RunsOption,
    SplitOption,
    TrackingOption,
    TrackOption,
)
from cocite_jobs.cli.reports import log_report, open_corpus, print_report


@with_local_paths
def cocitation(
    corpus: CorpusOption,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER[=LABEL]", help="Model folder, any number; each is a row or several."),
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option(
            help="What of the model folders is measured, as mp-bert4cr,hatten,first,full [default: mp-bert4cr, "
            "else all encoders]."
        ),
    ] = None,
    baselines: Annotated[
        str,
        typer.Option(
            help="all, none, or some of bm25,w2v,d2v,hd2v,dacr,scibert,specter, and names or folders of encoders, as "
            "ENCODER or ENCODER=LABEL."
        ),
    ] = "all",
    reads: Annotated[
        Literal["context", "manuscript", "better"],
        typer.Option(
            help="What baselines read: context, manuscript (what MP-BERT4CR reads too), or better: for each what "
            "finds more for contexts of dev papers."
        ),
    ] = "better",
    base: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Model folder that Table 4 tests the others against [default: triplet, where there is one].",
        ),
    ] = None,
    split: SplitOption = "test",
    with_dev: Annotated[
        bool, typer.Option("--with-dev", help="Baselines and counts know the dev papers too (final figures).")
    ] = False,
    sample: SampleOption = None,
    seed: SeedOption = 0,
    train: Annotated[
        bool,
        typer.Option(
            "--train",
            help="Measure MP-BERT4CR's variants in the first model folder, and train those that are missing.",
        ),
    ] = False,
    recipe: Annotated[
        str, typer.Option(help="Recipe that the variants are made of (--train).")
    ] = "mp-bert4cr-small",
    pretraining: Annotated[
        str,
        typer.Option(help="Recipe of the pretraining that variants begin with; none: without (--train)."),
    ] = "none",
    index: IndexOption = None,
    cache: Annotated[
        Path, typer.Option(help="Folder that keeps trained baselines and encoded papers.")
    ] = Path("cocite-baselines"),
    setting: BaselineSettingOption = None,
    to: RunsOption = None,
    markdown: MarkdownOption = None,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """MP-BERT4CR's Tables 3 and 4, with its baselines, and recall by how often pairs were cited together before."""
    from cocite.destinations import check_file_destination, check_folder_destination
    from cocite.errors import InputError
    from cocite.systems.baselines.train import BaselineSettings
    from cocite_jobs.evaluation.report_files import write_report
    from cocite_jobs.tables.cocitation import cocitation_tables
    from cocite_jobs.tables.cocitation_systems import ModelFolder, parse_baselines
    from cocite_jobs.tables.cocitation_variants import train_variants
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_folder_destination(to)
    check_file_destination(markdown)
    settings = BaselineSettings.parse({}, overrides=setting or (), option="--setting")
    opened = open_corpus(corpus, split)
    models = [ModelFolder.parse(text) for text in model or []]
    wanted = parse_baselines(baselines)
    if train:
        if not models:
            raise InputError("names no folder to train into", where="--train", hint="give --model FOLDER")
        home, *others = models
        made = train_variants(opened, home.folder, recipe=recipe, pretraining=pretraining, bars=progress_bar)
        models = [*made, *others]
    params = {
        "split": split,
        "with_dev": with_dev,
        "sample": sample or "all",
        "seed": seed,
        "systems": systems or "default",
        "baselines": baselines,
        "reads": reads,
        "settings": ", ".join(setting or ()) or "none",
    }
    tags = {"corpus": opened.version, "models": ", ".join(str(part.folder) for part in models)}
    where = TrackingSettings(folder=tracking, enabled=track)
    with start_run(
        f"cocitation-{split}", experiment="tables", params=params, tags=tags, tracking=where
    ) as run:
        report = cocitation_tables(
            opened,
            models,
            names=[name.strip() for name in systems.split(",")] if systems else None,
            baselines=wanted,
            split=split,
            with_dev=with_dev,
            sample=sample,
            seed=seed,
            saved=index,
            cache=cache,
            settings=settings,
            reads=reads,
            base=base,
            to=to,
            bars=progress_bar,
        )
        if to is not None:
            write_report(report, to)
        log_report(run, report)
    print_report(report, as_json, markdown)

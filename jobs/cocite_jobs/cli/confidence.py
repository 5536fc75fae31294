"""``cocite evaluate confidence``: how well the probabilities of a model fit what is cited."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cocite.cli.console import progress_bar
from cocite.cli.locations import INPUT, OUTPUT, with_local_paths
from cocite.cli.options import (
    CandidatesOption,
    CorpusOption,
    JsonOption,
    NoVerifyOption,
    RerankOption,
    SampleOption,
    SeedOption,
)
from cocite_jobs.cli.options import IndexOption, MarkdownOption, SplitOption, TrackingOption, TrackOption
from cocite_jobs.cli.reports import log_report, open_corpus, print_report


@with_local_paths
def confidence(
    corpus: CorpusOption,
    model: Annotated[Path, typer.Option(**INPUT, help="Model folder that holds confidence.")],
    task: Annotated[
        Literal["local", "global"],
        typer.Option(help="Queries: citation contexts (local) or titles and abstracts (global)."),
    ] = "local",
    split: SplitOption = "test",
    sample: SampleOption = None,
    seed: SeedOption = 0,
    candidates: CandidatesOption = "older",
    year_from: Annotated[
        int | None,
        typer.Option(min=0, max=9999, help="Earliest year of the candidates, as a request names it."),
    ] = None,
    year_to: Annotated[
        int | None,
        typer.Option(min=0, max=9999, help="Latest year of the candidates, as a request names it."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="Candidates of the second stage [default: 300].")
    ] = None,
    rerank: RerankOption = None,
    index: IndexOption = None,
    diagram: Annotated[
        Path | None, typer.Option(**OUTPUT, help="File to draw the reliability diagram to, as SVG.")
    ] = None,
    markdown: MarkdownOption = None,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Compare the probabilities of recommended papers with how often they are cited: calibration error and diagram."""
    from cocite.atomic_files import write_atomic
    from cocite.destinations import check_file_destination
    from cocite_jobs.evaluation.confidence import evaluate_confidence
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_file_destination(markdown)
    check_file_destination(diagram)
    opened = open_corpus(corpus, split)
    params = {
        "task": task,
        "split": split,
        "sample": sample or "all",
        "seed": seed,
        "candidates": candidates,
        "year_from": year_from or "any",
        "year_to": year_to or "any",
        "depth": depth or "default",
        "rerank": "default" if rerank is None else rerank,
    }
    tags = {"corpus": opened.version, "model": str(model)}
    where = TrackingSettings(folder=tracking, enabled=track)
    with start_run(
        f"confidence-{task}-{split}", experiment="evaluate", params=params, tags=tags, tracking=where
    ) as run:
        measured = evaluate_confidence(
            opened,
            model,
            task=task,
            split=split,
            sample=sample,
            seed=seed,
            depth=depth,
            rerank=rerank,
            candidates=candidates,
            years=(year_from, year_to),
            saved=index,
            bars=progress_bar,
        )
        log_report(run, measured.report)
    if diagram is not None:
        diagram.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(diagram, measured.diagram + "\n")
    print_report(measured.report, as_json, markdown)

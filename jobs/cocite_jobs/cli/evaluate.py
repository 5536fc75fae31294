"""``cocite evaluate``: measure runs and pipelines, and print the papers' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import print_warnings, progress_bar
from cocite.cli.locations import ARGUMENT, INPUT, shown, with_local_paths
from cocite.cli.options import (
    AcceleratorOption,
    CandidatesOption,
    CorpusOption,
    CpusOption,
    DepthOption,
    GpusOption,
    JsonOption,
    MinCitationsOption,
    NoVerifyOption,
    OnOption,
    QueryBatchOption,
    QueryWorkersOption,
    RayAddressOption,
    RerankOption,
    SampleOption,
    SeedOption,
    WaitOption,
    query_workers,
)
from cocite.errors import InputError
from cocite_jobs.cli.cocitation import cocitation
from cocite_jobs.cli.confidence import confidence
from cocite_jobs.cli.controls import controls
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

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
app.command("cocitation")(cocitation)
app.command("controls")(controls)
app.command("confidence")(confidence)

TaskOption = Annotated[
    str, typer.Option(help="Queries: citation contexts (local) or titles and abstracts (global).")
]
MetricsOption = Annotated[str | None, typer.Option(help="Metrics, as MRR,R@10,P@20,F1@20,MAP@10.")]


@app.callback()
def evaluate() -> None:
    """Measure a run or a pipeline, and print the papers' tables."""


@app.command("run")
@with_local_paths
def run(
    run: Annotated[Path, typer.Argument(**ARGUMENT, help="TREC run file.")],
    qrels: Annotated[Path, typer.Option(**INPUT, help="TREC qrels file.")],
    against: Annotated[
        Path | None,
        typer.Option(**INPUT, help="Another run, for a paired t-test."),
    ] = None,
    metrics: MetricsOption = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            **INPUT,
            help="Corpus store: adds slices by year, venue, in-citations; self-citation.",
        ),
    ] = None,
    task: TaskOption = "local",
    split: SplitOption = "test",
    confirm: Annotated[bool, typer.Option(help="Recompute through ir_measures what it has too.")] = False,
    markdown: MarkdownOption = None,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Metrics, slices and significance of a run file."""
    from cocite.corpus.store import Corpus
    from cocite.destinations import check_file_destination
    from cocite.evaluation import tasks
    from cocite.evaluation.metrics import LOCAL
    from cocite_jobs.evaluation.run_file import evaluate_run

    check_file_destination(markdown, run, qrels, against)
    built = tasks.build(Corpus.open(corpus), task, split) if corpus is not None else None
    with progress_bar("reading") as advance:
        report = evaluate_run(
            run,
            qrels,
            against=against,
            metrics=_metrics(metrics) or LOCAL,
            task=built,
            split=split,
            confirm=confirm,
            advance=advance,
        )
    print_report(report, as_json, markdown)


@app.command("pipeline")
@with_local_paths
def pipeline(
    corpus: CorpusOption,
    model: Annotated[
        Path | None,
        typer.Option(**INPUT, help="Model folder; without it BM25 and the first stage are measured."),
    ] = None,
    task: TaskOption = "local",
    split: SplitOption = "test",
    sample: SampleOption = None,
    seed: SeedOption = 0,
    min_citations: MinCitationsOption = None,
    stages: Annotated[
        str | None,
        typer.Option(
            help="Of bm25,nnselect,nnrank,hatten,mp-bert4cr,sentence,first-without-neural,first,fusion,cross,full; "
            "all the model offers by default."
        ),
    ] = None,
    metrics: MetricsOption = None,
    candidates: CandidatesOption = "all",
    k: DepthOption = 2000,
    batch: QueryBatchOption = 64,
    rerank: RerankOption = None,
    index: IndexOption = None,
    to: RunsOption = None,
    markdown: MarkdownOption = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print metrics and times alone, no slices.")] = False,
    on: OnOption = "process",
    address: RayAddressOption = None,
    workers: QueryWorkersOption = None,
    cpus: CpusOption = 1.0,
    gpus: GpusOption = None,
    accelerator: AcceleratorOption = "",
    wait: WaitOption = False,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Rank a split's queries with each system of a model, and measure: the index holds what came before the split."""
    from cocite.destinations import check_file_destination, check_folder_destination
    from cocite.pipeline.components import exclusion_notes
    from cocite_jobs.evaluation.pipeline import evaluate_pipeline
    from cocite_jobs.steps.run_parts import Workers
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_folder_destination(to)
    check_file_destination(markdown)
    who = query_workers(
        on,
        address,
        workers,
        cpus=cpus,
        gpus=gpus,
        accelerator=accelerator,
        wait=wait,
        has_model=model is not None,
    )
    if on == "ray" and index is None:
        raise InputError("the shards of an index are searched on Ray", where="--on", hint="give --index")
    params = {
        "task": task,
        "split": split,
        "sample": sample or "all",
        "seed": seed,
        "min_citations": min_citations or 1,
        "k": k,
        "candidates": candidates,
        "stages": stages or "all",
    }
    opened = open_corpus(corpus, split)
    where = TrackingSettings(folder=tracking, enabled=track)
    tags = {"corpus": opened.version, "model": str(model), "runs": str(to)}
    with start_run(
        f"{task}-{split}", experiment="evaluate", params=params, tags=tags, tracking=where
    ) as logged:
        report = evaluate_pipeline(
            opened,
            model,
            task=task,
            split=split,
            sample=sample,
            seed=seed,
            min_citations=min_citations,
            stages=[name.strip() for name in stages.split(",")] if stages else None,
            metrics=_metrics(metrics),
            k=k,
            batch=batch,
            rerank=rerank,
            candidates=candidates,
            saved=index,
            on=on,
            address=address,
            workers=None if who is None else Workers(on="ray", **who),
            beside=None if to is None else shown(to),
            to=to,
            bars=progress_bar,
        )
        log_report(logged, report)
    print_warnings(*exclusion_notes(model))
    print_report(report, as_json, markdown, brief=brief)


@app.command("tables")
@with_local_paths
def tables(
    corpus: CorpusOption,
    model: Annotated[Path, typer.Option(help="Model folder; variants that are missing are trained into it.")],
    only: Annotated[
        str, typer.Option(help="Which of the paper's tables and figures: 2,3,4,10,figure3,figure4,encoders.")
    ] = "2,3,4",
    split: SplitOption = "test",
    sample: SampleOption = None,
    seed: SeedOption = 0,
    min_citations: MinCitationsOption = None,
    markdown: MarkdownOption = None,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Citeomatic's tables and figures for a corpus."""
    from cocite.destinations import check_file_destination, check_folder_destination
    from cocite_jobs.tables.citeomatic import citeomatic_tables
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_file_destination(markdown)
    check_folder_destination(model)
    opened = open_corpus(corpus, split)
    where = TrackingSettings(folder=tracking, enabled=track)
    params = {"tables": only, "split": split, "sample": sample or "all", "seed": seed}
    params["min_citations"] = min_citations or 1
    with start_run(
        f"citeomatic-{split}",
        experiment="tables",
        params=params,
        tags={"corpus": opened.version},
        tracking=where,
    ) as logged:
        report = citeomatic_tables(
            opened,
            model,
            only=[name.strip() for name in only.split(",")],
            split=split,
            sample=sample,
            seed=seed,
            min_citations=min_citations,
            bars=progress_bar,
        )
        log_report(logged, report)
    print_report(report, as_json, markdown)


@app.command("reranking")
@with_local_paths
def reranking(
    corpus: CorpusOption,
    model: Annotated[
        Path,
        typer.Option(**INPUT, help="Model folder; what it lacks has no row."),
    ],
    only: Annotated[
        str | None,
        typer.Option(
            help="Tables: prefetching,reranking,pipeline,time,forms,budgets,bm25; all that can be made."
        ),
    ] = None,
    task: TaskOption = "local",
    split: SplitOption = "test",
    sample: SampleOption = None,
    seed: SeedOption = 0,
    min_citations: MinCitationsOption = None,
    depths: Annotated[str, typer.Option(help="Numbers of reranked candidates.")] = "10,20,50,100",
    oracle_depth: Annotated[
        int, typer.Option(min=2, max=100_000, help="Candidates of the reranking table; the paper has 2000.")
    ] = 100,
    reranker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FOLDER",
            help="Model folder whose cross-encoder reranks the candidates of bm25, hatten or first; repeatable.",
        ),
    ] = None,
    prefetcher: Annotated[
        str, typer.Option(help="System whose candidates the table of budgets reranks; the paper's is bm25.")
    ] = "first",
    trained: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="Model folder whose cross-encoder was trained for another split of the tokens: the table of budgets "
            "has it beside --model's; repeatable.",
        ),
    ] = None,
    baselines: Annotated[
        str,
        typer.Option(
            help="Rows of the prefetching table: s2v (the paper's Sent2Vec), w2v, d2v, hd2v, dacr; of the reranking "
            "table: ncn, dualcon, dualenh, bertgcn."
        ),
    ] = "none",
    cache: Annotated[
        Path, typer.Option(help="Folder that keeps trained baselines and encoded papers.")
    ] = Path("cocite-baselines"),
    setting: BaselineSettingOption = None,
    index: IndexOption = None,
    markdown: MarkdownOption = None,
    tracking: TrackingOption = Path("."),
    track: TrackOption = True,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Retrievers, the cross-encoder and both together: the tables of HAtten + SciBERT and of BM25 + SciBERT."""
    from cocite.destinations import check_file_destination
    from cocite.systems.baselines.train import BaselineSettings
    from cocite_jobs.tables.reranking import reranking_tables
    from cocite_mlflow.connection import TrackingSettings
    from cocite_mlflow.runs import start_run

    check_file_destination(markdown)
    settings = BaselineSettings.parse({}, overrides=setting or (), option="--setting")
    opened = open_corpus(corpus, split)
    where = TrackingSettings(folder=tracking, enabled=track)
    params = {
        "tables": only or "all",
        "task": task,
        "split": split,
        "sample": sample or "all",
        "seed": seed,
        "min_citations": min_citations or 1,
        "depths": depths,
        "oracle_depth": oracle_depth,
        "settings": ", ".join(setting or ()) or "none",
    }
    tags = {"corpus": opened.version, "model": str(model)}
    with start_run(
        f"reranking-{task}-{split}", experiment="tables", params=params, tags=tags, tracking=where
    ) as logged:
        report = reranking_tables(
            opened,
            model,
            only=[name.strip() for name in only.split(",")] if only else None,
            task=task,
            split=split,
            sample=sample,
            seed=seed,
            min_citations=min_citations,
            depths=_numbers(depths, "--depths"),
            oracle_depth=oracle_depth,
            rerankers=_rerankers(reranker or []),
            prefetcher=prefetcher,
            trained=[Path(folder) for folder in trained or []],
            baselines=() if baselines == "none" else [name.strip() for name in baselines.split(",")],
            cache=cache,
            settings=settings,
            saved=index,
            bars=progress_bar,
        )
        log_report(logged, report)
    print_report(report, as_json, markdown)


def _numbers(text: str, where: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{text!r} are not whole numbers", where=where, hint="10,20,50,100") from error


def _rerankers(values: list[str]) -> dict[str, Path]:
    pairs = [value.partition("=") for value in values]
    for name, equals, folder in pairs:
        if not (name and equals and folder):
            raise InputError(
                f"{name + equals + folder!r} is not NAME=FOLDER", where="--reranker", hint="hatten=model"
            )
    return {name: Path(folder) for name, _, folder in pairs}


def _metrics(text: str | None) -> list[str] | None:
    from cocite.evaluation.metrics import Metric

    return [str(Metric.parse(name)) for name in text.split(",")] if text else None

"""``cocite rank``: rank papers for queries from a file; writes a TREC run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cocite.cli import INDEX_ON_RAY, RANK_ON_RAY
from cocite.cli.console import err, print_json, print_note, print_warnings, progress_bar
from cocite.cli.locations import INPUT, OUTPUT, shown, with_local_paths
from cocite.cli.options import (
    FORM_HELP,
    AcceleratorOption,
    CandidatesOption,
    CpusOption,
    DepthOption,
    GpusOption,
    JsonOption,
    NoVerifyOption,
    OnOption,
    QueryBatchOption,
    QueryWorkersOption,
    RayAddressOption,
    RerankOption,
    WaitOption,
    query_workers,
)
from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest

if TYPE_CHECKING:
    from cocite.evaluation.experiment import Rank
    from cocite.retrieval.index.search_index import SearchIndex

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="docs/evaluation.md describes the form of a query line and of the run.")
@with_local_paths
def rank(
    queries: Annotated[Path, typer.Option(**INPUT, help="JSONL file, one query a line.")],
    to: Annotated[
        Path,
        typer.Option(
            **OUTPUT,
            help="TREC run file to write; a name in .gz is compressed.",
        ),
    ],
    index: Annotated[
        Path | None,
        typer.Option(**INPUT, help="Index folder: the papers to rank."),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            **INPUT,
            help="Corpus store to index in memory, in place of --index (bm25 only).",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            **INPUT,
            help="Model folder; without it nothing that was learned is used.",
        ),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(
            "--pipeline",
            "--retriever",
            help="What ranks: full, fusion, cross, first, first-without-neural, nnrank, nnselect, hatten, sentence, "
            "mp-bert4cr or bm25.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(help=FORM_HELP),
    ] = None,
    rerank: RerankOption = None,
    candidates: CandidatesOption = "all",
    k: DepthOption = 2000,
    batch: QueryBatchOption = 64,
    tag: Annotated[str | None, typer.Option(help="Name of the run in its last column.")] = None,
    on: OnOption = "process",
    address: RayAddressOption = None,
    workers: QueryWorkersOption = None,
    cpus: CpusOption = 1.0,
    gpus: GpusOption = None,
    accelerator: AcceleratorOption = "",
    wait: WaitOption = False,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Rank papers for queries from a file, with any pipeline; writes a TREC run."""
    from cocite.destinations import check_file_destination
    from cocite.evaluation.queries import QueryFile
    from cocite.evaluation.ranked_file import rank_file
    from cocite.evaluation.tasks import paper_ids
    from cocite.evaluation.trec import check_id, run_writer
    from cocite.pipeline.components import import_object
    from cocite.retrieval.query_forms import QueryForm

    check_file_destination(to, queries)
    if tag is not None:
        check_id(tag, "run tag")
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
    name = _system_name(model, pipeline, form)
    label = f"{name}-{form}" if form else name
    tag = label if tag is None else tag
    begin = time.perf_counter()
    if who is not None:
        if index is None:
            raise InputError("goes with --index, which every worker opens", where="--workers")
        ranked = import_object(RANK_ON_RAY)(
            *(index, name, model, queries, to),
            beside=shown(to),
            k=k,
            batch=batch,
            tag=tag,
            bars=progress_bar,
            **who,
            form=None if form is None else QueryForm(form),
            rerank=rerank,
            candidates=candidates,
        )
        seconds = time.perf_counter() - begin
    else:
        with _opened(index, corpus, name, on, address) as opened:
            rank_ = _system(name, opened, model, form, rerank, candidates)
            file = QueryFile(queries, opened.corpus)
            count = file.check()
            with (
                run_writer(to, partial(paper_ids, opened.corpus), tag=tag) as writer,
                progress_bar("ranking", count) as advance,
            ):
                ranked = rank_file(file, rank_, writer, k=k, batch=batch, advance=advance)
        seconds = ranked.seconds
    summary = {
        "run": shown(to),
        "system": label,
        "candidates": candidates,
        "queries": ranked.queries,
        "lines": ranked.lines,
        "queries_without_candidates": ranked.empty,
        "unknown_excludes": ranked.unknown_excludes,
        "seconds": round(seconds, 3),
        "queries_per_second": round(ranked.queries / max(seconds, 1e-9), 1),
    }
    if as_json:
        print_json(summary)
        return
    print_note(f"{ranked.queries:,} queries, {ranked.lines:,} lines in {seconds:.1f} s -> {shown(to)}")
    if ranked.empty:
        err.print(
            f"{ranked.empty:,} queries found no candidate: they have no line in the run", highlight=False
        )
    if ranked.unknown_excludes:
        err.print(f"{ranked.unknown_excludes:,} ids to exclude are not in the corpus", highlight=False)


def _system_name(model: Path | None, pipeline: str | None, form: str | None) -> str:
    """The pipeline that ranks.

    Raises:
        InputError: the model folder does not offer it, or there is no such form of a query for it.
    """
    from cocite.evaluation import systems
    from cocite.pipeline import components
    from cocite.retrieval.query_forms import QueryForm

    [name] = systems.select(model, ["full" if pipeline is None else pipeline], where="--pipeline")
    print_warnings(*components.exclusion_notes(model))
    if form is not None and name != "bm25":
        raise InputError("a form of the query goes with --pipeline bm25", where="--form")
    if form is not None and form not in set(QueryForm):
        raise InputError(
            f"no form is called {form!r}",
            where="--form",
            hint=nearest(form, [str(known) for known in QueryForm]),
        )
    return name


@contextmanager
def _opened(
    index: Path | None, corpus: Path | None, name: str, on: Literal["process", "ray"], address: str | None
) -> Iterator[SearchIndex]:
    """The index to rank with, while the block runs."""
    from cocite.evaluation.baselines import lexical_index
    from cocite.pipeline.components import import_object
    from cocite.retrieval.index.opening import open_index

    if (index is None) == (corpus is None):
        raise InputError("give --index or --corpus, one of the two", where="--index")
    if index is not None and on == "ray":
        with import_object(INDEX_ON_RAY)(index, address) as opened:
            yield opened
    elif index is not None:
        yield open_index(index)
    elif on == "ray":
        raise InputError("shards are searched on Ray", where="--on", hint="give --index")
    elif corpus is not None:
        if name != "bm25":
            raise InputError(
                f"the system {name!r} needs --index", where="--corpus", hint="build it: cocite index build"
            )
        yield lexical_index(Corpus.open(corpus))


def _system(
    name: str,
    index: SearchIndex,
    model: Path | None,
    form: str | None,
    rerank: int | None,
    candidates: Literal["older", "all"],
) -> Rank:
    """The function that ranks."""
    from cocite.evaluation import systems
    from cocite.retrieval.query_forms import QueryForm

    asked = None if form is None else QueryForm(form)
    return systems.open_system(name, model, index, form=asked, rerank=rerank, candidates=candidates)

"""``cocite corpus export``: an evaluation task as files that public tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cocite.cli.console import print_json, print_table, progress_bar
from cocite.cli.locations import OUTPUT, shown, with_local_paths
from cocite.cli.options import (
    FORM_HELP,
    JsonOption,
    NoVerifyOption,
    ReplaceOption,
    SampleOption,
    SeedOption,
    StoreArgument,
)


@with_local_paths
def export(
    store: StoreArgument,
    to: Annotated[Path, typer.Option("--to", **OUTPUT, help="Folder to write.")],
    layout: Annotated[
        Literal["beir", "tsv"],
        typer.Option(
            "--format",
            help="Files: beir (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv), or tsv (documents.tsv, queries.tsv, "
            "qrels/SPLIT.qrels), as ir_datasets and Anserini read them.",
        ),
    ] = "beir",
    task: Annotated[
        Literal["local", "global"],
        typer.Option(help="Queries: citation contexts (local) or titles and abstracts (global)."),
    ] = "local",
    split: Annotated[
        str, typer.Option(metavar="SPLIT,...", help="Splits whose papers are the queries: test, dev, train.")
    ] = "test",
    form: Annotated[
        Literal["title", "title+abstract", "context", "context+title", "context+title+abstract"] | None,
        typer.Option(help=FORM_HELP),
    ] = None,
    sample: SampleOption = None,
    seed: SeedOption = 0,
    packed: Annotated[
        bool, typer.Option("--gzip", help="Compress documents and queries; judgements stay plain.")
    ] = False,
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Write documents, queries and judgements for other tools: what cocite evaluate measures with.

    All papers are candidates. Whoever ranks them leaves out each query's own paper, which metadata.paper of the query
    names, or own-papers.tsv.
    """
    from cocite.corpus.store import Corpus
    from cocite.destinations import check_artifact_destination
    from cocite.evaluation.export import ExportOptions
    from cocite.evaluation.export import export as write_export

    check_artifact_destination(to, replace=replace)
    corpus = Corpus.open(store)
    options = ExportOptions(
        task, tuple(name.strip() for name in split.split(",")), layout, form, sample, seed, packed
    )
    with progress_bar("writing papers and queries", total=None) as advance:
        counts = write_export(corpus, to, options, replace=replace, advance=advance)
    if as_json:
        print_json({"to": shown(to), **counts})
        return
    rows = [("documents", f"{counts['documents']:,}")]
    for name in counts["queries"]:
        rows.append((f"queries ({name})", f"{counts['queries'][name]:,}"))
        rows.append((f"judgements ({name})", f"{counts['judgements'][name]:,}"))
    print_table(shown(to), ["", "count"], rows)

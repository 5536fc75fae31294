"""``cocite corpus``: import, check, describe and export a corpus."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cocite.cli import IMPORT_ON_RAY
from cocite.cli.console import out, print_json, print_table, print_warnings, progress_bar
from cocite.cli.corpus_export import export
from cocite.cli.corpus_tables import print_characteristics, print_rules, print_stats
from cocite.cli.locations import ARGUMENT, OUTPUT, name_of, shown, with_local_paths
from cocite.cli.options import (
    JsonOption,
    RayAddressOption,
    ReplaceOption,
    StoreArgument,
    StoreDestinationOption,
    WaitOption,
    WorkersOption,
    check_on_ray,
)
from cocite.errors import InputError
from cocite.progress_bars import StagedBars

app = typer.Typer(help="Import, check, describe and export a corpus.", no_args_is_help=True)
app.command("export")(export)


@app.command("import")
@with_local_paths
def import_(
    source: Annotated[Path, typer.Argument(**ARGUMENT, help="A file or folder.")],
    to: StoreDestinationOption,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, parquet, s2, openalex, citeomatic, aminer, crossref, arxiv, unarxive, acl-anthology, grobid, "
            "pdf, pdf-text, hatten, bibtex, ris, endnote, zotero-rdf, csl-json, csv [default: detected].",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="The columns of a table (CSV, TSV), as id=Key,title=Title,authors=Authors [default: columns have the "
            "names of fields].",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad record.")] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(
            **OUTPUT,
            help="File for what is rejected or dropped [default: DIR.rejects.jsonl].",
        ),
    ] = None,
    split_years: Annotated[
        str | None,
        typer.Option(
            metavar="TRAIN,DEV", help="Split by year: train to the first, dev to the second, test after."
        ),
    ] = None,
    links_from_contexts: Annotated[
        bool | None,
        typer.Option(help="Make links of the contexts' citations [default: when the source gives no links]."),
    ] = None,
    keep_later: Annotated[
        bool,
        typer.Option("--keep-later", help="Keep links to papers of any later year than the citing one's."),
    ] = False,
    later_years: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=9999,
            help="Keep links to papers of at most so many years later than the citing one [default: 1].",
        ),
    ] = None,
    replace: ReplaceOption = False,
    on: Annotated[
        Literal["process", "ray"],
        typer.Option(
            "--on",
            help="Read the source in this process, or in parts as tasks of Ray, where every machine of the cluster "
            "sees the source and the store's folder, or both are URIs.",
        ),
    ] = "process",
    address: RayAddressOption = None,
    workers: WorkersOption = None,
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import papers, citations, contexts and sentences into a store.

    Reads cocite's own JSON lines and Parquet folders, Semantic Scholar (S2AG, S2ORC), OpenAlex works and pages of its
    API, Citeomatic's JSON lines, AMiner's DBLP citation network, Crossref works and its public data file, arXiv's
    metadata, unarXive's full texts, the ACL Anthology's XML, GROBID's TEI, PDFs and their texts, the corpora of
    HAtten's authors, BibTeX, RIS, EndNote's XML, Zotero RDF, CSL-JSON, CSV and TSV. Each may be compressed (gzip, xz,
    zstd, bzip2), and JSON may be an array.
    """
    from cocite.corpus.builder import build
    from cocite.corpus.cold_history import cold_corpus
    from cocite.corpus.importers import open_source
    from cocite.corpus.rules import Limits
    from cocite.corpus.splits import by_year_name, parse_years
    from cocite.destinations import check_file_destination

    given = {"--address": address is not None, "--workers": workers is not None, "--wait": wait}
    check_on_ray(on, given)
    if keep_later and later_years is not None:
        raise InputError("cannot be given with --keep-later", where="--later-years")
    stream = open_source(source, format_, columns)
    split = by_year_name(*parse_years(split_years)) if split_years else None
    if rejects is None:
        whole = Path(os.path.realpath(to))  # "." has no name of its own
        rejects = to.parent / f"{to.name or whole.name}.rejects.jsonl"
    check_file_destination(rejects, source)
    options: dict[str, Any] = {
        "limits": Limits(later_years=later_years) if keep_later or later_years is not None else None,
        "strict": strict,
        "rejects": rejects,
        "split": split,
        "links_from_contexts": links_from_contexts,
        "replace": replace,
        "meta": {"source": name_of(source), "format": stream.format},
    }
    with StagedBars(progress_bar) as bar:
        bar.stage(f"reading {stream.format}", stream.total or 0)
        options["on_step"] = lambda step: bar.stage(step, 0)
        if on == "ray":
            module, name = IMPORT_ON_RAY.split(":")
            import_on_ray = getattr(import_module(module), name)
            options |= {"address": address, "count": workers, "wait": wait, "advance": bar.advance}
            corpus = import_on_ray(stream, to, shown(source), shown(to), **options)
        else:
            corpus = build(_WithProgress(stream, bar.advance), to, **options)
    _print_import(corpus, rejects if rejects.exists() else None, as_json)
    print_warnings(cold_corpus(corpus))


@app.command()
def schema() -> None:
    """Print the JSON Schema of cocite's own JSON lines; docs/corpus-format.md explains it."""
    from cocite.corpus.schema import json_schema

    print_json(json_schema())


@app.command()
def stats(
    store: StoreArgument,
    table_1: Annotated[
        bool,
        typer.Option(
            "--characteristics",
            help="Print what Citeomatic's Table 1 counts instead, beside the paper's numbers for its corpora.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print what a store holds and what its import met: counts by rule, years, degrees, splits."""
    from cocite.corpus.stats import describe
    from cocite.corpus.store import Corpus

    corpus = Corpus.open(store)
    if table_1:
        print_characteristics(str(store), corpus, as_json)
        return
    facts = describe(corpus)
    if as_json:
        print_json(facts)
        return
    print_stats(str(store), facts)


@app.command()
def verify(store: StoreArgument, as_json: JsonOption = False) -> None:
    """Check every file of a store against its SHA-256; a damaged one is named."""
    from cocite.corpus.store import Corpus

    manifest = Corpus.verify(store)
    size, version = manifest.size, Corpus(store, manifest).version
    if as_json:
        print_json({"ok": True, "version": version, "files": len(manifest.files), "bytes": size})
    else:
        out.print(
            f"{store}: {len(manifest.files)} files, {size / 1e6:,.1f} MB, undamaged (version {version})"
        )


@app.command()
def show(
    store: StoreArgument,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The paper's id, as the corpus writes it.")],
    as_json: JsonOption = False,
) -> None:
    """Print one paper, what it cites, and how it is cited."""
    from cocite.corpus.stats import paper_facts
    from cocite.corpus.store import Corpus

    facts = paper_facts(Corpus.open(store), id_)
    if as_json:
        print_json(facts)
        return
    grid = [
        (name, value if isinstance(value, str) else "; ".join(map(str, value)))
        for name, value in facts["paper"].items()
    ]
    from rich.table import Table

    view = Table(show_header=False, box=None)
    for name, value in grid:
        view.add_row(name, str(value) or "–")
    out.print(view, soft_wrap=False)
    for name in ("cites", "cited_by", "cocited_with"):
        print_table(
            f"{name.replace('_', ' ')} ({facts[name]['total']})", ["id", "title"], facts[name]["papers"]
        )
    for sentence in facts["contexts"]:
        out.print(f"  {sentence['citing']}: {sentence['text']}", markup=False)


@app.command()
@with_local_paths
def synth(
    to: StoreDestinationOption,
    papers: Annotated[int, typer.Option(min=10, max=100_000_000, help="Number of papers.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="The same seed gives the same corpus.")] = 0,
    context_rate: Annotated[float, typer.Option(min=0, max=20, help="Contexts per paper, on average.")] = 4.0,
    sentences: Annotated[bool, typer.Option("--sentences", help="Write bodies as well.")] = False,
    one_year: Annotated[
        bool,
        typer.Option(
            "--one-year", help="All papers are of one year, split at random: dev and test a tenth each."
        ),
    ] = False,
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a synthetic corpus in which content and co-citation both tell what is cited."""
    from cocite.corpus.synth import Synthetic
    from cocite.corpus.synth_store import build_synthetic

    source = Synthetic(papers, seed=seed, context_rate=context_rate, sentences=sentences, one_year=one_year)
    with StagedBars(progress_bar) as bar:
        bar.stage("writing papers", papers)
        corpus = build_synthetic(
            source,
            to,
            replace=replace,
            on_papers=bar.advance,
            on_step=lambda step: bar.stage(step, 0),
        )
    _print_import(corpus, None, as_json)


@app.command()
@with_local_paths
def starter(to: StoreDestinationOption, replace: ReplaceOption = False, as_json: JsonOption = False) -> None:
    """Write the starter corpus: landmark papers of NLP, information retrieval, machine learning and recommendation."""
    from cocite.corpus.starter import build_starter

    _print_import(build_starter(to, replace=replace), None, as_json)


@app.command()
@with_local_paths
def split(
    store: StoreArgument,
    to: StoreDestinationOption,
    years: Annotated[
        str | None, typer.Option(metavar="TRAIN,DEV", help="By year: train to the first, dev to the second.")
    ] = None,
    random: Annotated[
        str | None,
        typer.Option(metavar="DEV,TEST", help="Random by paper: shares of dev and test, as 0.1,0.1."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the random split.")] = 0,
    without: Annotated[
        Path | None,
        typer.Option(help="Take out of train the papers whose title is in this other store (leak filter)."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.05, max=1, help="Jaccard similarity of titles that counts as the same.")
    ] = 0.7,
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a copy of a store with another split."""
    from cocite.corpus.cold_history import cold_corpus
    from cocite.corpus.splits import Split, leaked, parse_shares, parse_years, with_split
    from cocite.corpus.store import Corpus

    corpus = Corpus.open(store)
    if years and random:
        raise InputError("give --years or --random, not both")
    if not (years or random or without):
        raise InputError(
            "no split is given", where="corpus split", hint="give --years, --random or --without"
        )
    if years:
        chosen = Split.by_year(corpus, *parse_years(years))
    elif random:
        chosen = Split.random(len(corpus), *parse_shares(random), seed=seed)
    else:
        chosen = Split.of(corpus)
    removed = 0
    if without is not None:
        leaks = leaked(corpus, Corpus.open(without), threshold=threshold)
        removed = int((leaks & chosen.train).sum())
        chosen = chosen.without(leaks & chosen.train)
    result = with_split(corpus, chosen, to, replace=replace)
    facts: dict[str, Any] = {
        "to": shown(to),
        "version": result.version,
        "splits": chosen.counts(),
        "leaks_removed": removed,
    }
    if as_json:
        print_json(facts)
    else:
        print_table(shown(to), ["split", "papers"], [(name, f"{n:,}") for name, n in facts["splits"].items()])
        if without is not None:
            out.print(f"{removed:,} papers left out of train: their titles are in {without}")
    print_warnings(cold_corpus(result))


class _WithProgress:
    """A stream of records that moves a progress bar as it is read."""

    def __init__(self, stream: Any, advance: Callable[[int], None]) -> None:
        self.stream = stream
        self.advance = advance

    @property
    def position(self) -> Any:
        return self.stream.position

    @property
    def path(self) -> Any:
        return self.stream.path

    def __iter__(self) -> Iterator[Any]:
        return self._moving(self.stream, every=2048)

    def record_blocks(self) -> Iterator[Any]:
        return self._moving(self.stream.record_blocks(), every=1)

    def _moving(self, records: Iterable[Any], every: int) -> Iterator[Any]:
        before = 0
        for number, record in enumerate(records):
            if number % every == 0 and self.stream.done != before:
                self.advance(self.stream.done - before)
                before = self.stream.done
            yield record
        self.advance(self.stream.done - before)


def _print_import(corpus: Any, rejects: Path | None, as_json: bool) -> None:
    counts = corpus.counts
    unknown = corpus.manifest.meta.get("unknown_fields", [])
    if as_json:
        print_json(
            {
                "to": shown(corpus.path),
                "version": corpus.version,
                **counts,
                "unknown_fields": unknown,
                "rejects": shown(rejects) if rejects else None,
            }
        )
        return
    names = ("papers", "citations", "contexts", "sentences", "cocited_pairs")
    print_table(
        shown(corpus.path), ["", "count"], [(name.replace("_", " "), f"{counts[name]:,}") for name in names]
    )
    print_rules(counts["rules"], corpus.manifest.meta.get("samples", {}), unknown)
    if rejects is not None:
        out.print(f"{shown(rejects)} lists what was rejected or dropped, and why")

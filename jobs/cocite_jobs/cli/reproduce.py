"""``cocite reproduce``: each table and figure of a paper for a corpus, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import err, out, print_json, print_note, print_table, progress_bar
from cocite.cli.options import JsonOption, MinCitationsOption, SampleOption
from cocite.cli.signals import exit_on_sigterm
from cocite_jobs.reproduction.plan import Size

app = typer.Typer(help="Make a paper's tables and figures for a corpus.", add_completion=False)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="citeomatic, nogueira, hatten or mp-bert4cr.")],
    corpus: Annotated[Path, typer.Option("--corpus", help="Corpus store, split into train, dev and test.")],
    size: Annotated[
        Size,
        typer.Option(
            help="toy: a few steps; small: recipes for two CPU cores; paper: the paper's, for GPUs.",
        ),
    ] = "small",
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time for all of it, as 45m or 2h [default: no limit].")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Folder of models, tables and page [default: reproduction/PAPER-SIZE]."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Tables and figures, as table4,figure3 [default: all].")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, help="Seed of trainings and of the query sample [default: 0]."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Seeds of the trainings, separated by commas."),
    ] = None,
    sample: SampleOption = None,
    min_citations: MinCitationsOption = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="Pretrained encoder that rerankers start from, a name or a folder [default: toy and small: a BERT "
            "that is pretrained on the corpus; paper: SciBERT], and a baseline of mp-bert4cr. Repeated, nogueira, "
            "hatten and mp-bert4cr compare them in Table 3.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            metavar="SETTING",
            help="Change in the recipes: KIND.key.path=value, as hatten.words.source=file, or KIND=RECIPE, as "
            "nnselect=nnselect-paper-pubmed. Repeatable.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of a running Ray cluster, which trains [default: RAY_ADDRESS, else this process trains]."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a paper's tables and figures for a corpus, beside the paper's own numbers, as one page.

    What the folder has already is not made again: the same command goes on where an earlier one was stopped. With
    --seeds in place of --seed each seed is a trial, and tables show means and deviations.
    """
    from cocite.corpus.store import Corpus
    from cocite.errors import CociteError, InputError
    from cocite_jobs.reproduction.budget import parse_duration
    from cocite_jobs.reproduction.papers import require_paper
    from cocite_jobs.reproduction.plan import Setup
    from cocite_jobs.reproduction.reproduce import reproduce as run
    from cocite_jobs.reproduction.trials import parse_seeds, reproduce_trials

    require_paper(paper)
    seconds = None if budget is None else parse_duration(budget)
    names = None if only is None else [name.strip() for name in only.split(",")]
    folder = to if to is not None else Path("reproduction", f"{paper}-{size}")
    if seed is not None and seeds is not None:
        raise InputError("cannot be given with --seed", where="--seeds", hint="name all seeds in --seeds")
    trials = None if seeds is None else parse_seeds(seeds)
    named = encoder or []
    first, more = next(iter(named), None), tuple(named[1:])
    setup = Setup(
        *(Corpus.open(corpus), folder, size, seed or 0, first, sample, address, progress_bar, more),
        settings=tuple(settings or ()),
        min_citations=min_citations,
    )
    exit_on_sigterm()
    if trials is None:
        outcome = run(paper, setup, only=names, budget=seconds, note=print_note)
    else:
        outcome = reproduce_trials(paper, setup, trials, only=names, budget=seconds, note=print_note)
    contents = outcome.contents
    if as_json:
        print_json(contents.json())
    else:
        for shown in contents.shown:
            print_table(shown.exhibit.title, *shown.grid.flat())
        for what, why in contents.missing.items():
            err.print(f"missing: {what}. {why}")
        out.print(f"The page: {outcome.page}")
    if contents.missing:
        count = len(contents.missing)
        raise CociteError(
            f"{count} of the tables and figures {'is' if count == 1 else 'are'} missing",
            where=str(outcome.page),
        )

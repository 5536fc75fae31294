"""``cocite demo``: corpus, training, index, evaluation, endpoint, one recommendation over HTTP, and the page."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli.console import err, out, spinner
from cocite.cli.signals import exit_on_sigterm

if TYPE_CHECKING:
    from cocite_jobs.demo import DemoFolders, DemoQuery

STARTER_FUSION = ("local_depth=100", "trees.trees=100", "trees.leaves=7")
"""Settings of the starter corpus' fusion: with some 200 gaps of dev, fewer and smaller trees are better and quicker."""

app = typer.Typer(help="Run the whole chain on a corpus.", add_completion=False)

Corpus = Annotated[
    Path | None,
    typer.Option(
        "--corpus", help="A corpus store, or anything `cocite corpus import` reads [default: starter corpus]."
    ),
]


@app.command()
def demo(
    corpus: Corpus = None,
    once: Annotated[bool, typer.Option("--once", help="End after printing the recommendation.")] = False,
    port: Annotated[int, typer.Option(help="TCP port.", min=1, max=65535)] = 8000,
    to: Annotated[Path, typer.Option("--to", help="Folder for all results; it is made anew.")] = Path("demo"),
    sample: Annotated[
        int, typer.Option(min=10, max=1_000_000_000, help="Most queries that are evaluated, of each kind.")
    ] = 300,
) -> None:
    """Run the whole chain: import, train, index, evaluate, serve; each step is a command you can type yourself."""
    from cocite.corpus.importers import open_source
    from cocite.destinations import check_folder_destination
    from cocite.locks import locked
    from cocite_jobs import demo as steps

    exit_on_sigterm()
    steps.require_free_port(port)
    # A source that cannot be used is refused before the folders of an earlier demo are removed.
    if corpus is not None and not steps.is_store(corpus):
        open_source(corpus)
    check_folder_destination(to)
    with locked(to.with_name(f".{to.name}.lock"), folder=to):
        _clear(to)
        _run(corpus, once, port, to, sample)


def _run(corpus: Path | None, once: bool, port: int, to: Path, sample: int) -> None:
    """The steps of the demo, in a folder that is its own."""
    from cocite.corpus.store import Corpus as Store
    from cocite_jobs import demo as steps

    began = time.monotonic()
    folders = steps.DemoFolders.under(to)
    source = folders.corpus
    if corpus is None:
        _run_command("corpus", "starter", "--to", folders.corpus)
    elif steps.is_store(corpus):
        source = corpus
    else:
        _run_command("corpus", "import", corpus, "--to", folders.corpus)
    store = Store.open(source)
    years = steps.split_years(store)
    if years is not None:
        _run_command("corpus", "split", source, "--years", f"{years[0]},{years[1]}", "--to", to / "split")
        source = to / "split"
        store = Store.open(source)
    settings = {"fusion": STARTER_FUSION if corpus is None else ()}
    for recipe in ("nnselect", "nnrank", "fusion", "confidence"):
        _run_command("train", recipe, *settings.get(recipe, ()), "--corpus", source, "--to", folders.model)
    for kind in ("global", "local") if len(store.contexts) else ("global",):
        _run_command(
            *("evaluate", "pipeline", "--corpus", source, "--model", folders.model, "--task", kind),
            *("--sample", sample, "--to", folders.report / kind, "--brief"),
        )
    # What test papers cite is kept from the index, so that the answer below is a prediction.
    _run_command(
        *("index", "build", source, "--to", folders.index, "--model", folders.model),
        *("--before-split", "test"),
    )
    # The endpoint asks them before it serves the model.
    _run_command("model", "golden", folders.model, "--index", folders.index)
    _print_command(*steps.serve_arguments(folders, port))
    with ExitStack() as stack:
        with spinner("Starting the endpoint"):
            url = stack.enter_context(steps.endpoint(folders, port))
        asked = steps.demo_query(store)
        answer = steps.recommend(url, asked.request)
        _print_answer(asked, answer)
        if corpus is None:
            _print_drafts(folders)
        err.print(f"All of it took {time.monotonic() - began:.0f} s.")
        out.print(f"The page: {url}   the API: {url}/docs")
        if not once:
            out.print("Serving until Ctrl-C.")
            try:
                while True:
                    time.sleep(3600)
            except KeyboardInterrupt:
                err.print("Ending …")


def _clear(folder: Path) -> None:
    """Remove the folder of an earlier demo, and nothing else."""
    import shutil

    from cocite.errors import InputError

    mark = folder / ".cocite-demo"
    if folder.exists() and any(folder.iterdir()):
        if not mark.exists():
            raise InputError(
                "is not empty and was not made by the demo", where=str(folder), hint="name another: --to"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()


def _print_command(*arguments: object) -> None:
    out.rule(style="dim")
    out.print(f"$ cocite {shlex.join(map(str, arguments))}", style="bold")


def _run_command(*arguments: object) -> None:
    """Run a command line in this process, as a user would type it."""
    from cocite.cli import root

    _print_command(*arguments)
    root.main(args=[str(argument) for argument in arguments], prog_name="cocite", standalone_mode=False)


def _print_answer(asked: DemoQuery, answer: dict[str, Any]) -> None:
    from rich.table import Table

    citing = asked.paper
    out.rule(style="dim")
    grid = Table(
        title=f"What should “{citing.title}” ({citing.year or 'year unknown'}) cite?",
        title_justify="left",
        caption="✓ the paper cites it, which the endpoint could not know",
        caption_justify="left",
    )
    for column in ("", "paper", "year", "because it shares"):
        grid.add_column(column)
    for paper in answer["papers"]:
        words = [word["word"] for word in (paper.get("evidence") or {}).get("shared_words", [])][:5]
        grid.add_row(
            "✓" if paper["id"] in asked.cites else "",
            paper["title"],
            str(paper["year"] or ""),
            ", ".join(words),
        )
    out.print(grid, soft_wrap=False)


def _print_drafts(folders: DemoFolders) -> None:
    """Print where the expected papers of the starter drafts stand, and the command that answers a draft."""
    from rich.table import Table

    from cocite.pipeline.recommender import Recommender
    from cocite_jobs.demo import copy_drafts
    from cocite_jobs.starter_drafts import rank_expected

    out.rule(style="dim")
    grid = Table(title=f"Drafts to try, in {folders.drafts}", title_justify="left")
    for column in ("draft", "gap", "paper that a reader would expect", "rank"):
        grid.add_column(column)
    for paper in rank_expected(Recommender.load(folders.model, folders.index)):
        grid.add_row(paper.draft, str(paper.gap), paper.title, paper.rank_text)
    draft = copy_drafts(folders)
    out.print(grid, soft_wrap=False)
    out.print("One of them answered gap by gap, with reasons:")
    command = ["recommend", str(draft), "--index", str(folders.index), "--model", str(folders.model)]
    out.print(f"$ cocite {shlex.join(command)}", style="bold", soft_wrap=True)

"""``cocite language-server``: completes citations in editors, over the Language Server Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import print_warnings
from cocite.cli.options import CiteKeysOption, NoVerifyOption

app = typer.Typer(rich_markup_mode=None)


@app.command(name="language-server", epilog="docs/editors.md says how editors are told of the server.")
def language_server(
    index: Annotated[Path, typer.Option(help="The index folder.")],
    model: Annotated[
        Path | None, typer.Option(help="The model folder; without one, the first stage alone ranks.")
    ] = None,
    cite_keys: CiteKeysOption = None,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Complete citations in LaTeX and Markdown drafts, for the editor that started the command."""
    from cocite.pipeline.recommender import Recommender
    from cocite_serve.editors.completions import Completer
    from cocite_serve.editors.server import DraftServer, run_stdio

    recommender = Recommender.load(model, index)
    print_warnings(*recommender.exclusion_notes)
    run_stdio(DraftServer(Completer(recommender, cite_keys or "cocite")))

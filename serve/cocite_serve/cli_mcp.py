"""``cocite mcp``: lets agents ask for recommendations, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cocite.cli.console import print_note, print_warnings
from cocite.cli.options import NoVerifyOption

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="docs/agents.md has the tools, and how agents are told of the server.")
def mcp(
    index: Annotated[Path, typer.Option(help="The index folder.")],
    model: Annotated[
        Path | None, typer.Option(help="The model folder; without one, the first stage alone ranks.")
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            help="Serve over HTTP at http://127.0.0.1:PORT/mcp, to any program of this machine. "
            "Default: over standard input and output, to the program that started the command.",
            min=1,
            max=65535,
        ),
    ] = None,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Serve an agent the tools recommend, fill_gaps, explain and get_bibtex."""
    if http is not None:
        from cocite_serve.endpoint import require_port

        require_port("127.0.0.1", http, "--http")

    from cocite.drafts.suggestions import has_classifier, load_classifier
    from cocite.pipeline.recommender import Recommender
    from cocite_serve.agents.server import HOST, PATH, ToolServer, run_http, run_stdio
    from cocite_serve.agents.tools import Tools

    recommender = Recommender.load(model, index)
    print_warnings(*recommender.exclusion_notes)
    classifier = load_classifier(model) if has_classifier(model) else None
    server = ToolServer(Tools(recommender, classifier))
    if http is None:
        run_stdio(server)
        return
    print_note(f"Serving agents at http://{HOST}:{http}{PATH}  (Ctrl-C ends it)")
    run_http(server, http)

"""``cocite serve``: the endpoint and its web page, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer

from cocite.cli.console import err, out, print_json, print_note, spinner
from cocite.cli.options import JsonOption, NoVerifyOption
from cocite_serve.settings import ServeSettings

app = typer.Typer(rich_markup_mode=None)


@app.command()
def serve(
    index: Annotated[Path, typer.Option(help="The index folder.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="The model: a folder, or models:/NAME@ALIAS or models:/NAME/VERSION of MLflow's registry; "
            "without one, the untrained ranking."
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="The snapshot to serve; the current one by default.")
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option(
            help="Seconds between two looks for a newer version behind the alias, or a newer snapshot of the index; "
            "0: never. Default: 60 for a model by alias, else 0.",
            min=0,
            max=31_536_000,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on. There is no login.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port.", min=1, max=65535)] = 8000,
    replicas: Annotated[
        int, typer.Option(help="Processes of each of the two stages.", min=1, max=10_000)
    ] = 1,
    shard_policy: Annotated[
        Literal["fail", "partial"],
        typer.Option(
            help="When a shard of the index does not answer: refuse the request with 503 and the shard's number, or "
            "answer with the papers of the others and say what is missing."
        ),
    ] = "fail",
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster to run on; a private Ray by default.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A further setting, as limits.top_k=50 (cocite_serve/settings.py has them all)."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the log lines of Ray and of the replicas.")
    ] = False,
    as_json: JsonOption = False,
    _no_verify: NoVerifyOption = False,
) -> None:
    """Serve recommendations over HTTP, with a web page at /."""
    data: dict[str, Any] = {
        "model": None if model is None else str(model),
        "index": str(index),
        "index_version": version,
        "watch": {"seconds": watch},
        "host": host,
        "port": port,
        "retriever": {"replicas": replicas},
        "reranker": {"replicas": replicas},
        "shards": {"policy": shard_policy},
    }
    parsed = ServeSettings.parse(data, where="cocite serve", overrides=settings or [], option="--set")

    from cocite_serve.endpoint import LOOPBACK, start

    ended = threading.Event()

    starting, ended_by = True, 0

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal ended_by
        first, ended_by = not ended.is_set(), number
        ended.set()
        if starting and first:  # a second one would only disturb the cleaning up
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        with spinner("Starting the endpoint"):
            endpoint = start(parsed, address=address, quiet=not verbose, notify=print_note)
    except KeyboardInterrupt:
        if ended_by == signal.SIGTERM:
            err.print("Ended before it was up.")
            return
        raise
    with endpoint:
        starting = False
        # An interrupt is lost where it arrives in a function that Python calls around a fork.
        if ended_by == signal.SIGTERM:
            err.print("Ended before it was up.")
            return
        if ended.is_set():
            raise KeyboardInterrupt
        if parsed.host not in LOOPBACK:
            err.print(
                f"Anybody who reaches {parsed.host}:{parsed.port} can use the endpoint: there is no login."
            )
        if as_json:
            print_json({"url": endpoint.url, "docs": f"{endpoint.url}/docs"})
        else:
            out.print(f"Serving at {endpoint.url}  (API: {endpoint.url}/docs, Ctrl-C ends it)")
        while not ended.wait(1.0):
            pass
        err.print("Ending …")

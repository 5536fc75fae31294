"""``cocite serve``: the endpoint and its web page, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cocite.cli.console import err, out, print_json, print_note, spinner
from cocite.cli.options import JsonOption, NoVerifyOption
from cocite.errors import InputError
from cocite_serve.settings import ServeSettings

if TYPE_CHECKING:
    from cocite_serve.endpoint import Endpoint
    from cocite_serve.one_process.endpoint import LocalEndpoint

app = typer.Typer(rich_markup_mode=None)


@app.command()
def serve(
    index: Annotated[Path, typer.Option(help="The index folder.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="The model: a folder, or models:/NAME@ALIAS or models:/NAME/VERSION of MLflow's registry; "
            "without one, the first stage alone ranks."
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
    host: Annotated[
        str, typer.Option(help="Address to listen on. Without --keys anybody who reaches it may ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port.", min=1, max=65535)] = 8000,
    metrics_port: Annotated[
        int,
        typer.Option(
            help="TCP port on 127.0.0.1 where Prometheus reads metrics; 0: any free one. On a cluster: an option of "
            "ray start.",
            min=0,
            max=65535,
        ),
    ] = 0,
    keys: Annotated[
        Path | None, typer.Option(help="The file of API keys that `cocite keys new` writes.")
    ] = None,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the log, a line of JSON for each request; ~/.local/state/cocite/logs by default."
        ),
    ] = None,
    replicas: Annotated[
        int,
        typer.Option(
            help="Processes of the gateway, which answers HTTP, and of each of the two stages.",
            min=1,
            max=10_000,
        ),
    ] = 1,
    shard_policy: Annotated[
        Literal["fail", "partial"],
        typer.Option(
            help="When a shard of the index does not answer: refuse the request with 503 and the shard's number, or "
            "answer with the papers of the others and say what is missing."
        ),
    ] = "fail",
    on: Annotated[
        Literal["ray", "process"],
        typer.Option(help="Ray Serve, with replicas; or this process alone, which is up in seconds."),
    ] = "ray",
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
        "metrics_port": metrics_port,
        "keys": {} if keys is None else {"file": str(keys)},
        "logs": {} if log_dir is None else {"folder": str(log_dir)},
        "gateway": {"replicas": replicas},
        "retriever": {"replicas": replicas},
        "reranker": {"replicas": replicas},
        "shards": {"policy": shard_policy},
    }
    parsed = ServeSettings.parse(data, where="cocite serve", overrides=settings or [], option="--set")

    if on == "process" and address is not None:
        raise InputError("one process has none", where="--address", hint="leave it out, or --on ray")

    from cocite_serve.endpoint import LOOPBACK, start
    from cocite_serve.key_file import asks_for_keys

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
            if on == "process":
                from cocite_serve.one_process.endpoint import start_here

                endpoint: Endpoint | LocalEndpoint = start_here(parsed, notify=print_note)
            else:
                endpoint = start(
                    parsed, address=address, quiet=not verbose, notify=print_note, interrupted=ended
                )
    except KeyboardInterrupt:
        if ended_by == signal.SIGTERM:
            err.print("Ended before it was up.")
            return
        raise
    with endpoint:
        starting = False
        # It may have come since the last look of `start`, and been lost.
        if ended_by == signal.SIGTERM:
            err.print("Ended before it was up.")
            return
        if ended.is_set():
            raise KeyboardInterrupt
        if parsed.host not in LOOPBACK and not asks_for_keys(parsed.keys):
            err.print(
                f"Anybody who reaches {parsed.host}:{parsed.port} can use the endpoint: it asks for no API key "
                "(--keys)."
            )
        if as_json:
            urls = {"url": endpoint.url, "docs": f"{endpoint.url}/docs", "metrics": endpoint.metrics_url}
            print_json(urls)
        else:
            out.print(f"Serving at {endpoint.url}  (API: {endpoint.url}/docs, Ctrl-C ends it)")
            if metrics_port:
                out.print(f"Metrics at {endpoint.metrics_url}")
        while not ended.wait(1.0):
            endpoint.require_ray()
        err.print("Ending …")

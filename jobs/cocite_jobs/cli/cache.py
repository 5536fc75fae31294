"""``cocite cache``: what this machine has copied from elsewhere, and its removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli.console import out, print_json, print_table
from cocite.cli.options import JsonOption
from cocite.errors import BusyError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cocite_jobs.storage.cached_copies import CachedCopy

app = typer.Typer(help="List and remove this machine's copies of what lies elsewhere.", no_args_is_help=True)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the copies with their sizes, those first that no command has asked for the longest."""
    from cocite_jobs.storage.cache import cache_folder
    from cocite_jobs.storage.cached_copies import list_copies

    copies = list_copies()
    if as_json:
        facts = [_facts(copy) for copy in copies]
        print_json({"folder": cache_folder(), "bytes": _bytes(copies), "copies": facts})
        return
    rows = [
        (copy.source, copy.name, _megabytes(copy.bytes), _time(copy), "yes" if copy.in_use else "no")
        for copy in copies
    ]
    title = f"{cache_folder()}: {_megabytes(_bytes(copies))} MB"
    print_table(title, ["copied from", "name", "MB", "last used", "in use"], rows)


@app.command()
def remove(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="URI|NAME", help="What the copies were made of, or their names; any number."),
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option(
            min=0, max=36_500, metavar="DAYS", help="Those that no command has asked for in so many days."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All copies.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove copies; what a living process has asked for stays. A command that needs one again makes it anew."""
    from datetime import UTC, datetime, timedelta

    from cocite_jobs.storage.cached_copies import list_copies, named_copies, remove_copy

    if [bool(names), older_than is not None, everything].count(True) != 1:
        raise InputError("name copies, or give --older-than or --all", where="cocite cache remove")
    copies = list_copies()
    if names:
        copies = named_copies(copies, names)
    elif older_than is not None:
        before = datetime.now(UTC) - timedelta(days=older_than)
        copies = [copy for copy in copies if copy.used < before]
    removed = [copy for copy in copies if remove_copy(copy)]
    kept = [copy for copy in copies if copy not in removed]
    if as_json:
        facts = {"removed": [_facts(copy) for copy in removed], "in_use": [_facts(copy) for copy in kept]}
        print_json({"bytes": _bytes(removed), **facts})
    else:
        for copy in removed:
            out.print(f"{copy.source}: {_megabytes(copy.bytes)} MB removed")
        for copy in () if names else kept:
            out.print(f"{copy.source}: in use, {_megabytes(copy.bytes)} MB stay")
        out.print(f"{len(removed)} removed, {_megabytes(_bytes(removed))} MB in all")
    if names and kept:
        raise BusyError(
            "a process that has asked for it is at work", where=kept[0].source, hint="wait until it ends"
        )


def _facts(copy: CachedCopy) -> dict[str, Any]:
    return {
        "source": copy.source,
        "name": copy.name,
        "folder": copy.folder,
        "bytes": copy.bytes,
        "used": copy.used,
        "in_use": copy.in_use,
    }


def _bytes(copies: Sequence[CachedCopy]) -> int:
    return sum(copy.bytes for copy in copies)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}"


def _time(copy: CachedCopy) -> str:
    """When a copy was last asked for, in this machine's time zone."""
    return copy.used.astimezone().strftime("%Y-%m-%d %H:%M")

"""``cocite keys``: makes API keys for the endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cocite.cli.console import out, print_json, print_note
from cocite.cli.options import JsonOption

app = typer.Typer(rich_markup_mode=None, help="Make API keys for the endpoint.", no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Make API keys for the endpoint."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Whose key it is; the endpoint's log has it.")],
    file: Annotated[Path, typer.Option(help="The file of keys; made where it is missing.")],
    role: Annotated[
        Literal["reader", "admin"],
        typer.Option(help="reader: asks for recommendations; admin: sees the use of all keys, too."),
    ] = "reader",
    per_minute: Annotated[
        float | None, typer.Option(help="Requests a minute; no limit by default.", min=0.001, max=1e9)
    ] = None,
    per_day: Annotated[
        int | None, typer.Option(help="Requests a day; no limit by default.", min=0, max=10**12)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key, print it once, and add its SHA-256 to a file."""
    from cocite_serve.key_file import new_key

    key = new_key(file, name, role, per_minute, per_day)
    if as_json:
        print_json({"name": name, "role": role, "key": key, "file": str(file)})
        return
    out.print(key)
    print_note(f"The key of {name} is shown once: {file} has its hash alone. To revoke it, delete its line.")

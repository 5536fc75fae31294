"""What every command prints with: tables on standard output, progress on standard error, JSON for machines."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from types import TracebackType
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from cocite.cli.progress_lines import progress_lines
from cocite.errors import CociteError

# Titles and sentences may hold "[CIT]": that is text, not markup.
# A table that goes to a file is not cut to the 80 columns that no terminal is taken for.
out = Console(
    markup=False, highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
)
err = Console(stderr=True, markup=False, highlight=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
"""The ``--json`` option of a command."""

CandidatesOption = Annotated[
    Literal["all", "older"],
    typer.Option(
        help="Papers that may be ranked: all, or older: of a query with a year, those of that year or earlier and "
        "those of unknown year."
    ),
]
"""The ``--candidates`` option of the commands that rank."""


def _no_verify(value: bool) -> bool:
    if value:
        from cocite.verification import switch_off

        switch_off()
    return value


NoVerifyFlag = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        callback=_no_verify,
        help="Trust corpus and index: do not compare them with their SHA-256 where this machine has not done it yet.",
    ),
]
"""The ``--no-verify`` option of a command that opens a corpus or an index; it acts when it is parsed."""


def emit(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def warn(*messages: CociteError | str | None) -> None:
    """Print what does not end the command as warnings on standard error, a line each; None prints nothing."""
    for message in messages:
        if message is not None:
            err.print(f"cocite: warning: {message}", soft_wrap=True)


def plain(value: Any) -> Any:
    """A value in terms of JSON: arrays as lists, NumPy's numbers as numbers, NaN and infinities as null.

    Raises:
        TypeError: the value has no such form. A string in its place would mislead the machine that reads it.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    for convert in ("tolist", "model_dump", "isoformat"):  # NumPy and Torch; pydantic; dates
        if hasattr(value, convert):
            return plain(getattr(value, convert)())
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    grid = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        grid.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        grid.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    out.print(grid)


@contextmanager
def progress(description: str, total: float | None = None) -> Iterator[Any]:
    """A progress bar on standard error, or a line now and then where that is no terminal; yields ``advance(n=1)``."""
    if not err.is_terminal:
        with progress_lines(description, total, _write_line) as lines:
            yield lines.advance
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    ) as bar:
        task = bar.add_task(description, total=total)
        yield lambda n=1: bar.advance(task, n)


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show that something takes a while: a sign that moves, or a line now and then where there is no terminal."""
    if err.is_terminal:
        with err.status(f"{description} …"):
            yield
    else:
        with progress_lines(description, None, _write_line):
            yield


def _write_line(text: str) -> None:
    err.print(text, soft_wrap=True)  # one line is one line, in a log too


class Stages:
    """One progress bar after another, one for each stage of a long piece of work."""

    def __init__(self) -> None:
        self._stage = ExitStack()
        self._advance: Callable[[int], None] = lambda _: None

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many steps (0: unknown); the one before is at its end."""
        self._stage.close()
        self._advance = self._stage.enter_context(progress(name, total or None))

    def advance(self, count: int) -> None:
        """Steps done."""
        self._advance(count)

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the present stage's bar; one that was cut short is not called done."""
        self._stage.__exit__(kind, error, trace)


def stages() -> Stages:
    """Shows progress while the block runs."""
    return Stages()

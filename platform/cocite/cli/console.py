"""Prints the results and the progress of commands: tables and JSON on standard output, the rest on standard error."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

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

from cocite.cli.progress_log import log_progress
from cocite.errors import CociteError

# Titles and sentences may hold "[CIT]" or ":key:": that is text, neither markup nor the name of a picture.
# Without a terminal rich assumes 80 columns, which would cut the tables that go to a file. A sentence stays one
# line there: whoever searches a log for it must find it.
out = Console(
    markup=False,
    emoji=False,
    highlight=False,
    soft_wrap=not sys.stdout.isatty(),
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160,
)
err = Console(stderr=True, markup=False, emoji=False, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(to_json(value), ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def print_note(text: str) -> None:
    """Print a line on standard error. It is not wrapped, so that it is one line in a log too."""
    err.print(text, soft_wrap=True)


def print_warnings(*messages: CociteError | str | None) -> None:
    """Print messages that do not end the command on standard error, a line each; None prints nothing."""
    for message in messages:
        if message is not None:
            print_note(f"cocite: warning: {message}")


def to_json(value: Any) -> Any:
    """A value as JSON can hold it: arrays as lists, NumPy's numbers as numbers, NaN and infinities as null.

    Raises:
        TypeError: the value has no such form. A string in its place would mislead the program that reads it.

    Example:
        >>> import numpy as np
        >>> from cocite.cli.console import to_json
        >>> to_json({"scores": np.array([0.5, np.nan]), 2017: {"b", "a"}})
        {'scores': [0.5, None], '2017': ['a', 'b']}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(to_json(item) for item in value)
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    for convert in ("tolist", "model_dump", "isoformat"):  # NumPy and Torch; pydantic; dates
        if hasattr(value, convert):
            return to_json(getattr(value, convert)())
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table on standard output: the first column aligned to the left, the others to the right."""
    grid = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        grid.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        grid.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    out.print(grid, soft_wrap=False)


@contextmanager
def progress_bar(description: str, total: float | None = None) -> Iterator[Any]:
    """Show a progress bar on standard error, or a line now and then where that is no terminal.

    Args:
        description: what is being done.
        total: steps in all; None: unknown.

    Yields:
        ``advance(n=1)``, which counts steps that are done.
    """
    if not err.is_terminal:
        with log_progress(description, total, print_note) as log:
            yield log.advance
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
def spinner(description: str) -> Iterator[None]:
    """Show that something takes a while: a moving sign, or a line now and then where there is no terminal."""
    if err.is_terminal:
        with err.status(f"{description} …"):
            yield
    else:
        with log_progress(description, None, print_note):
            yield

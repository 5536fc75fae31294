"""Runs and parses the commands that a sweep prints to use what it found."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from cocite.cli import root
from cocite.config import with_overrides
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query, Ranking
from cocite_jobs.training.recipes import load_recipe
from cocite_serve.settings import ServeSettings
from helpers.command_line import call


def run_sweep_command(capsys: pytest.CaptureFixture[str], store: Path, **sweep: Any) -> dict[str, Any]:
    """Run a sweep by its command in the working directory, and return the JSON document that it prints."""
    Path("sweep.yaml").write_text(json.dumps({"name": "found", "start": [], **sweep}))
    line = ("tune", "sweep.yaml", "--corpus", store, "--to", "found", "--no-track", "--json")
    code, out, err = call(capsys, *line)
    assert code == 0, err
    return json.loads(out)  # type: ignore[no-any-return]


def run_command(capsys: pytest.CaptureFixture[str], line: str, *more: str) -> None:
    """Run a command that a sweep prints; cocite's own commands run in this process."""
    words = [*shlex.split(line), *more]
    if words[0] != "cocite":
        subprocess.run(words, check=True)
        return
    code, _, err = call(capsys, *words[1:])
    assert code == 0, err


def parsed(line: str) -> dict[str, Any]:
    """The parameters of a command that is parsed but not run, its settings and recipe parsed too."""
    words, group = shlex.split(line), root
    assert words.pop(0) == "cocite"
    context = click.Context(group)
    while hasattr(group, "resolve_command"):
        _, group, words = group.resolve_command(context, words)  # type: ignore[assignment]
    values = group.make_context("cocite", words).params
    if group.name == "serve":
        data = {"index": values["index"], "model": values["model"]}
        values["settings"] = ServeSettings.parse(with_overrides(data, values["settings"] or []))
    if group.name == "train":
        values["recipe"] = load_recipe(values["recipe"], values["overrides"] or [])
    return values


def lines_of(queries: Sequence[Query], corpus: Corpus) -> str:
    """The queries as a file for ``cocite rank``."""
    fields = ("id", "context", "title", "abstract", "year")
    return "".join(
        json.dumps({name: getattr(query, name) for name in fields} | {"paper": corpus.paper(query.paper).id})
        + "\n"
        for query in queries
    )


def read_run(path: Path, queries: Sequence[Query], corpus: Corpus, k: int) -> Ranking:
    """A TREC run as a ranking."""
    position = {query.id: i for i, query in enumerate(queries)}
    rows = np.full((len(queries), k), NO_ROW, np.int32)
    scores = np.full((len(queries), k), -np.inf, np.float32)
    for line in path.read_text().splitlines():
        query, _, paper, rank, score, _ = line.split()
        rows[position[query], int(rank) - 1] = corpus.row(paper)
        scores[position[query], int(rank) - 1] = float(score)
    return Ranking(rows, scores)


def parsed_usage(study: Any, params: dict[str, Any], store: Path, tmp_path: Path) -> tuple[list[Any], str]:
    """The parsed cocite commands of a study's usage, and its notes."""
    usage = study.usage(params, str(store), tmp_path / "best")
    return [parsed(line) for line in usage.commands if line.startswith("cocite ")], " ".join(usage.notes)

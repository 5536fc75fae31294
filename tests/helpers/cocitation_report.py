"""The report of ``cocite evaluate cocitation``, and what its tables hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cocite.corpus.store import Corpus
from helpers.command_line import call


def cocitation_report(
    capsys: pytest.CaptureFixture[str], corpus: Corpus, cache: Path, *args: object
) -> dict[str, Any]:
    """The JSON document that the command prints for 30 queries."""
    shared = ["--corpus", corpus.path, "--cache", cache, "--no-track", "--json", "--sample", 30]
    code, out, err = call(capsys, "evaluate", "cocitation", *shared, *args)
    assert code == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


def systems_of(table: list[dict[str, Any]]) -> list[str]:
    """The systems of a table, one a row."""
    return [row["system"] for row in table]

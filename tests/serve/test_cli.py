"""What ``cocite serve`` finds wrong before it starts anything."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from cocite.errors import CociteError, ConfigError, NotFoundError
from cocite_serve.cli import app


def run(*arguments: str) -> CociteError:
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, CociteError), result.output
    return result.exception


def test_a_misspelt_setting_names_the_nearest(tmp_path: Path) -> None:
    error = run("--index", str(tmp_path), "--set", "limits.topk=3")
    assert isinstance(error, ConfigError)
    assert "did you mean 'top_k'?" in str(error)


def test_a_folder_that_is_no_index(tmp_path: Path) -> None:
    error = run("--index", str(tmp_path), "--port", "59981")
    assert isinstance(error, NotFoundError)
    assert "holds no index" in str(error)

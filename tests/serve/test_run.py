"""What ``cocite serve`` finds wrong before it starts anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cocite.errors import CociteError, ConfigError, InputError, NotFoundError
from cocite_serve.cli import app
from cocite_serve.problems import NotReadyError
from cocite_serve.run import start
from cocite_serve.settings import ServeSettings


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


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}"):
            start(ServeSettings(index=tmp_path, port=port))


def test_stages_of_different_versions_never_answer_together() -> None:
    from cocite_serve.deployments import Versions

    Versions("m1", "000001").require(Versions("m1", "000001"), "reranker")
    for other in (Versions("m2", "000001"), Versions("m1", "000002")):
        with pytest.raises(
            NotReadyError, match=r"the reranker serves model .* but this request needs model m1"
        ):
            Versions("m1", "000001").require(other, "reranker")

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cocite.errors import CociteError, InputError, NotFoundError, without_passwords
from cocite_mlflow.connection import (
    FAIL_EARLY,
    QUIET,
    TrackingSettings,
    artifact_location,
    connect,
    connect_to_existing,
    tracking_uri,
    translate_read_errors,
    translate_write_errors,
    writable_uri,
)


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def test_the_store_is_a_file_in_a_folder_unless_the_environment_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = TrackingSettings(folder=tmp_path)
    assert tracking_uri(tmp_path) == writable_uri(settings) == f"sqlite:///{tmp_path}/mlflow.db"
    assert artifact_location(settings, "tests") == (tmp_path / "mlartifacts" / "tests").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server")
    assert tracking_uri(tmp_path) == writable_uri(settings) == "http://server"
    assert artifact_location(settings, "tests") is None, "the server decides"


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        writable_uri(TrackingSettings(folder=tmp_path / "file"))


def test_writers_make_a_missing_database_and_readers_do_not(tmp_path: Path) -> None:
    uri = tracking_uri(tmp_path)
    with pytest.raises(NotFoundError, match=r"mlflow\.db: no MLflow store .name another."):
        connect_to_existing(uri, hint="name another")
    assert list(tmp_path.iterdir()) == []
    connect(uri)
    assert (tmp_path / "mlflow.db").is_file()
    assert connect_to_existing(uri, hint="").search_registered_models() == []


def test_what_the_environment_says_of_mlflow_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*QUIET, *FAIL_EARLY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
    connect(tracking_uri(tmp_path))
    assert "MLFLOW_HTTP_REQUEST_MAX_RETRIES" not in os.environ, "a writer waits for its server"
    connect_to_existing(tracking_uri(tmp_path), hint="")
    assert {name: os.environ[name] for name in QUIET} == QUIET
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "2"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "5"


MAKE = "import sys; from cocite_mlflow.connection import connect; connect(sys.argv[1])"


def test_processes_that_start_together_make_one_database(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKE, tracking_uri(tmp_path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert [experiment.name for experiment in connect(tracking_uri(tmp_path)).search_experiments()] == [
        "Default"
    ]


def test_a_database_whose_tables_could_not_be_made_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    def interrupted(self: MlflowClient, **_: object) -> None:
        assert (tmp_path / "mlflow.db").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(MlflowClient, "search_experiments", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        connect(tracking_uri(tmp_path))
    assert not (tmp_path / "mlflow.db").exists()


def test_errors_of_the_store_are_sentences_without_passwords() -> None:
    from mlflow.exceptions import MlflowException

    uri = "http://me:secret@host:1"
    sentence = r"^http://host:1: MLflow: no answer from http://host:1"
    for translate in (translate_write_errors, translate_read_errors):
        with pytest.raises(CociteError, match=sentence) as caught, translate(uri):
            raise MlflowException(f"no answer from {uri}\nand more")
        assert "secret" not in str(caught.value)
    sentence = "^sqlite:///x: the MLflow store cannot be read: broken$"
    with pytest.raises(CociteError, match=sentence), translate_read_errors("sqlite:///x"):
        raise RuntimeError("broken\ntwice")
    with pytest.raises(ZeroDivisionError, match="division"), translate_write_errors("sqlite:///x"):
        _ = 1 / 0


def test_addresses_without_users_stay_as_they_are() -> None:
    for text in ("http://host/a@b", "sqlite:////a/b.db", "no address: me@example.org"):
        assert without_passwords(text) == text


def test_mlflow_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, cocite_mlflow.registry; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""What travels with a job, and what is refused before anything is sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.command_line import call

from cocite_jobs.cluster.job_client import JobInfo, use_token
from cocite_jobs.cluster.working_directory import pack_working_directory

PLACES = ["--corpus", "/data/corpus", "--to", "s3://models/ours"]


def test_the_packages_travel_and_run_where_nothing_else_is(tmp_path: Path) -> None:
    recipe = tmp_path / "ours.yaml"
    recipe.write_text("kind: nnselect\n")
    packed = tmp_path / "packed"
    packed.mkdir()
    assert pack_working_directory(packed, file=recipe, installed=False)
    names = {path.name for path in packed.iterdir()}
    assert names == {"cocite", "cocite_mlflow", "cocite_jobs", "cocite_tuning", "cocite_serve", "ours.yaml"}
    assert not [path for path in packed.rglob("*") if path.name == "__pycache__" or path.name.startswith(".")]
    assert (packed / "cocite_jobs" / "recipes" / "nnselect.yaml").is_file()
    # The copy is what runs there: python -m looks into the working directory first.
    code = "import cocite, cocite_jobs; print(cocite.__file__, cocite_jobs.__file__)"
    done = subprocess.run(
        [sys.executable, "-m", "cocite", "--version"], cwd=packed, capture_output=True, check=False
    )
    assert done.returncode == 0
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=packed, capture_output=True, text=True, check=True
    )
    assert all(Path(file).is_relative_to(packed) for file in found.stdout.split())


def test_an_installed_cocite_needs_the_recipe_at_most(tmp_path: Path) -> None:
    assert not pack_working_directory(tmp_path, file=None, installed=True)
    (tmp_path / "r.yaml").write_text("kind: nnselect\n")
    (tmp_path / "packed").mkdir()
    assert pack_working_directory(tmp_path / "packed", file=tmp_path / "r.yaml", installed=True)
    assert [path.name for path in (tmp_path / "packed").iterdir()] == ["r.yaml"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nnselect", "loop.epoch=3", *PLACES], "unknown key 'loop.epoch' (did you mean 'epochs'?)"),
        (["nnselct", *PLACES], "no recipe 'nnselct'"),
        (["nnselect", "--to", "/model"], "--corpus: is needed: a path on the cluster, or a URI"),
        (["nnselect", "--corpus", "corpus", "--to", "/m"], "--corpus: 'corpus' is relative"),
        (["nnselect", "--corpus", "/c", "--to", "./m"], "--to: './m' is relative"),
        (
            ["nnselect", "space.loop.epoch={choice: [1]}", "--sweep", "--corpus", "/c", "--to", "/sweep"],
            "space: unknown key 'loop.epoch' (did you mean 'loop.epochs'?)",
        ),
        (["nnselect", "--sweep", *PLACES], "--to: 's3://models/ours' is no folder"),
        (
            ["nnselect", "--sweep", "--register", "ours", "--corpus", "/c", "--to", "/sweep"],
            "--register: a sweep says itself what it registers",
        ),
        (
            ["nnselect", *PLACES, "--address", "head:8265"],
            "'head:8265' is not the address of a cluster's dashboard",
        ),
        (
            ["nnselect", *PLACES, "--address", "http://127.0.0.1:9"],
            "http://127.0.0.1:9: no Ray cluster answers there",
        ),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "job", "submit", *arguments)
    assert code == (1 if "no Ray" in sentence else 2)
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_the_given_address_counts_not_the_environments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:11")
    assert "http://127.0.0.1:9: no" in call(capsys, "job", "list", "--address", "http://127.0.0.1:9")[2]
    assert "http://127.0.0.1:11: no" in call(capsys, "job", "list")[2]
    assert os.environ["RAY_ADDRESS"] == "http://127.0.0.1:11"
    assert "RAY_API_SERVER_ADDRESS" not in os.environ


def test_a_token_is_shown_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    use_token()
    assert "RAY_AUTH_MODE" not in os.environ
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("x")
    use_token()
    assert os.environ["RAY_AUTH_MODE"] == "token"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    use_token()
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


@pytest.mark.parametrize(
    ("status", "exit_code", "code"),
    [("SUCCEEDED", 0, 0), ("FAILED", 3, 3), ("FAILED", None, 1), ("FAILED", 0, 1), ("STOPPED", None, 130)],
)
def test_a_jobs_end_has_an_exit_code(status: str, exit_code: int | None, code: int) -> None:
    assert JobInfo("id", status, "r", "c", "", None, None, exit_code).code == code

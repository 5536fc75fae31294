from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cocite.errors import InputError
from cocite_jobs.cluster import working_directory
from cocite_jobs.cluster.working_directory import check_files, pack_working_directory


def test_the_packages_are_sent_and_run_where_nothing_else_is(tmp_path: Path) -> None:
    recipe = tmp_path / "ours.yaml"
    recipe.write_text("kind: nnselect\n")
    directory = tmp_path / "directory"
    directory.mkdir()
    assert pack_working_directory(directory, files=[recipe], installed=False)
    names = {path.name for path in directory.iterdir()}
    assert names == {"cocite", "cocite_mlflow", "cocite_jobs", "cocite_tuning", "cocite_serve", "ours.yaml"}
    assert not [path for path in directory.rglob("*") if path.name == "__pycache__" or path.name[0] == "."]
    assert (directory / "cocite_jobs" / "recipes" / "nnselect.yaml").is_file()
    # The copy is what runs there: python -m looks into the working directory first.
    code = "import cocite, cocite_jobs; print(cocite.__file__, cocite_jobs.__file__)"
    version = subprocess.run(
        [sys.executable, "-m", "cocite", "--version"], cwd=directory, capture_output=True, check=False
    )
    assert version.returncode == 0
    imported = subprocess.run(
        [sys.executable, "-c", code], cwd=directory, capture_output=True, text=True, check=True
    )
    assert all(Path(file).is_relative_to(directory) for file in imported.stdout.split())


def test_a_cluster_with_cocite_needs_the_recipe_at_most(tmp_path: Path) -> None:
    assert not pack_working_directory(tmp_path, files=[], installed=True)
    (tmp_path / "r.yaml").write_text("kind: nnselect\n")
    (tmp_path / "directory").mkdir()
    assert pack_working_directory(tmp_path / "directory", files=[tmp_path / "r.yaml"], installed=True)
    assert [path.name for path in (tmp_path / "directory").iterdir()] == ["r.yaml"]


def test_files_that_are_too_large_or_share_a_name_do_not_travel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/queries.jsonl", "b/queries.jsonl", "b/recipe.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x" * 600_000)
    check_files([tmp_path / "a/queries.jsonl", tmp_path / "a/queries.jsonl"])
    with pytest.raises(InputError, match=r"b/queries\.jsonl: two files .* are named 'queries\.jsonl'"):
        check_files([tmp_path / "a/queries.jsonl", tmp_path / "b/queries.jsonl"])
    monkeypatch.setattr(working_directory, "FILES_BYTES", 2**20)
    with pytest.raises(
        InputError, match=r"files of 1 MiB cannot travel with a job, whose limit is 1 MiB \(put"
    ):
        pack_working_directory(
            tmp_path / "none",
            files=[tmp_path / "b/queries.jsonl", tmp_path / "b/recipe.yaml"],
            installed=True,
        )

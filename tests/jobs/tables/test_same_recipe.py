"""A table's parts are of the recipes that its rows name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cocite.artifacts import seal
from cocite.errors import InputError
from cocite_jobs.tables.same_recipe import require_copy, require_same
from cocite_jobs.training.recipes import load_recipe


def trained(folder: Path, *overrides: str) -> Path:
    folder.mkdir()
    recipe = load_recipe("nnselect", overrides)
    (folder / "weights").write_text(f"of {overrides}")
    seal(folder, kind="nnselect", meta={"recipe": recipe.model_dump(mode="json")})
    return folder


def test_settings_are_compared_but_for_those_that_may_change_on_resuming(tmp_path: Path) -> None:
    artifact = trained(tmp_path / "nnselect", "workers.count=2", "training.minutes=5")
    require_same(artifact, load_recipe("nnselect", ["workers.count=0", "training.minutes=0.4"]))
    require_same(artifact, load_recipe("nnselect", ["training.checkpoint_minutes=2"]))
    with pytest.raises(InputError, match=r"nnselect: was trained with other settings than these \(remove it"):
        require_same(artifact, load_recipe("nnselect", ["training.steps=3"]))


def test_a_copy_of_what_was_trained_anew_is_refused(tmp_path: Path) -> None:
    artifact, copy = trained(tmp_path / "nnselect"), tmp_path / "copy"
    shutil.copytree(artifact, copy)
    require_copy(copy, artifact)
    shutil.rmtree(artifact)
    trained(artifact, "training.steps=3")
    with pytest.raises(InputError, match=r"copy: is no copy of .*nnselect, as it is now"):
        require_copy(copy, artifact)

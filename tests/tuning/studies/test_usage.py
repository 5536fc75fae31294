"""Commands as a user types them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish
from cocite.config import with_overrides
from cocite_jobs.training.recipes import load_recipe
from cocite_tuning.studies.usage import (
    command_line,
    override,
    recipe_overrides,
    retrain_commands,
    train_command,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-05, "1.0e-05"), (None, "null"), (True, "true"), ("context+title", "context+title"), ("1", "'1'"),
     ([1, [2.5, "a"]], "[1, [2.5, a]]"), ("x" * 200 + " y", "x" * 200 + " y")],
)  # fmt: skip
def test_an_override_is_read_as_it_was(value: Any, text: str) -> None:
    assert override("a.b", value) == f"a.b={text}"
    assert with_overrides({}, [override("a.b", value)]) == {"a": {"b": value}}
    assert os.linesep not in override("a.b", value)


def test_words_are_quoted_for_a_shell() -> None:
    line = command_line("cocite", "train", Path("my recipe.yaml"), "--set", "a=it's")
    assert shlex.split(line) == ["cocite", "train", "my recipe.yaml", "--set", "a=it's"]


def test_only_what_differs_from_the_recipe_is_overridden() -> None:
    recipe = load_recipe("nnselect", ["training.epochs=3"]).model_dump(mode="json")
    assert recipe_overrides("nnselect", load_recipe("nnselect").model_dump(mode="json")) == []
    assert recipe_overrides("nnselect", recipe) == ["training.epochs=3"]
    line = train_command("nnselect", load_recipe("nnselect", ["training.epochs=3"]), "corpus", Path("model"))
    assert line == "cocite train nnselect training.epochs=3 --corpus corpus --to model"


def test_only_the_fusions_that_are_there_are_retrained(tmp_path: Path) -> None:
    recipe = load_recipe("fusion", ["reserve=0.4"]).model_dump(mode="json")
    with publish(tmp_path / "fusion", kind="fusion", meta={"recipe": recipe}) as folder:
        (folder / "trees").write_text("...")
    assert retrain_commands(tmp_path, ["fusion", "final"], "corpus", None) == [
        f"cocite train fusion reserve=0.4 --corpus corpus --to {tmp_path}"
    ]
    (line,) = retrain_commands(tmp_path, ["fusion"], "corpus", Path("index"))
    assert "index=index" in shlex.split(line)
    assert retrain_commands(tmp_path, [], "corpus", None) == []
    assert retrain_commands(None, ["fusion"], "corpus", None) == []

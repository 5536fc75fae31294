"""The examples in docstrings: every public class has one, and all of them run."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest
from helpers.sources import SOURCES, module_of, name_of

STARTING_RAY: set[str] = {
    "jobs/cocite_jobs/retrieval/ray_shards.py",
    "jobs/cocite_jobs/training/ray_actors.py",
    "platform/cocite_mlflow/registration.py",
    "platform/cocite_mlflow/registry.py",
    "platform/cocite_mlflow/runs.py",
    "serve/cocite_serve/model_cache.py",
}
"""Modules whose examples start Ray, Serve or MLflow."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [path for path in SOURCES if ">>> " in path.read_text(encoding="utf-8")]


def run_examples(path: Path) -> None:
    """Run a module's examples, each docstring by itself."""
    module = importlib.import_module(module_of(path))
    results = doctest.testmod(module, optionflags=FLAGS)
    assert results.attempted
    assert results.failed == 0, f"{name_of(path)}: {results.failed} lines print something else: see above"


@pytest.mark.parametrize("path", [p for p in WITH_EXAMPLES if name_of(p) not in STARTING_RAY], ids=name_of)
def test_examples_print_what_they_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(path)


@pytest.mark.integration
@pytest.mark.parametrize("path", [p for p in WITH_EXAMPLES if name_of(p) in STARTING_RAY], ids=name_of)
def test_examples_with_ray_print_what_they_say(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_examples(path)


def classes_without_example(path: Path) -> list[str]:
    """Public classes of a module whose docstrings, or those of their methods, hold no example."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            texts = [ast.get_docstring(node) or ""]
            texts += [
                ast.get_docstring(part) or "" for part in node.body if isinstance(part, ast.FunctionDef)
            ]
            if not any(">>> " in text for text in texts):
                found.append(node.name)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_every_public_class_has_an_example(path: Path) -> None:
    assert classes_without_example(path) == []

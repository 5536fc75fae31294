"""The tests mirror the library: for each module a test file of the same name, in the folder of the same name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from helpers.sources import PACKAGES, ROOT, SOURCES, name_of

FOLDERS = {
    "cocite": "",
    "cocite_mlflow": "mlflow_client",
    "cocite_jobs": "jobs",
    "cocite_tuning": "tuning",
    "cocite_serve": "serve",
}
MODULES = [path for path in SOURCES if path.stem not in ("__init__", "__main__")]


def test_file_of(path: Path) -> Path:
    """Where the tests of a module belong."""
    package = next(name for name, folder in PACKAGES.items() if path.is_relative_to(folder))
    inside = path.relative_to(PACKAGES[package])
    return ROOT / "tests" / FOLDERS[package] / inside.parent / f"test_{inside.name}"


test_file_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_a_test_file_of_its_name(path: Path) -> None:
    wanted = test_file_of(path)
    assert wanted.is_file(), f"{name_of(path)} is tested in no {wanted.relative_to(ROOT)}"


TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_every_expected_error_is_known_by_its_message(path: Path) -> None:
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    raises = [call for call in calls if ast.unparse(call.func) == "pytest.raises"]
    without = [call.lineno for call in raises if all(k.arg not in ("match", "check") for k in call.keywords)]
    assert without == []

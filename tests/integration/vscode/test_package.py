"""The extension for VS Code: its types, its own tests, and what is in the package that users install."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from helpers.vscode_extension import installed_copy, npm, packaged

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed_copy(tmp_path_factory.mktemp("extension"))


def test_its_types_and_its_own_tests_pass(folder: Path) -> None:
    types = npm(folder, "run", "check")
    assert types.returncode == 0, types.stdout
    tests = npm(folder, "test")
    assert tests.returncode == 0, tests.stdout
    assert re.search(r"^\S+ pass [1-9]", tests.stdout, re.MULTILINE), "npm ran no test"


def test_the_package_holds_the_bundle_and_the_licences_alone(folder: Path) -> None:
    with zipfile.ZipFile(packaged(folder)) as package:
        inside = {
            name.removeprefix("extension/") for name in package.namelist() if name.startswith("extension/")
        }
        manifest = json.loads(package.read("extension/package.json"))
        bundle = package.read("extension/dist/extension.js").decode()
        licences = package.read("extension/dist/third-party-licenses.txt").decode()
    assert inside == {
        "package.json", "readme.md", "LICENSE.txt", "dist/extension.js", "dist/third-party-licenses.txt",
    }  # fmt: skip
    assert manifest["main"] == "./dist/extension.js"
    assert 'require("vscode")' in bundle
    assert 'require("vscode-languageclient' not in bundle
    assert "vscode-languageclient 11" in licences

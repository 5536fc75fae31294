"""The manifest of the extension for VS Code names what the command and the server have."""

from __future__ import annotations

import json
import re
from typing import Any

import click
import pytest
from helpers.sources import ROOT
from helpers.vscode_extension import SOURCE

from cocite.cli import root
from cocite_serve.editors.cursor import LANGUAGES

MANIFEST: dict[str, Any] = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))


def test_the_settings_are_the_options_of_the_command() -> None:
    command = root.get_command(click.Context(root), "language-server")
    assert command is not None
    options = {option for param in command.params for option in param.opts} - {"--help", "-h"}
    settings = MANIFEST["contributes"]["configuration"]["properties"]
    named = {re.sub("[A-Z]", lambda m: f"-{m[0].lower()}", name.removeprefix("cocite.")) for name in settings}
    assert named - {"command"} == {option.removeprefix("--") for option in options}
    # A folder that is not trusted must not choose the program.
    assert set(MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]) == set(settings)


def test_the_languages_are_those_of_the_server() -> None:
    source = (SOURCE / "src" / "languages.ts").read_text(encoding="utf-8")
    assert dict(re.findall(r'^  (\w+): "(\w+)",$', source, re.MULTILINE)) == LANGUAGES
    assert {f"onLanguage:{language}" for language in LANGUAGES} == set(MANIFEST["activationEvents"])


@pytest.mark.parametrize("name", ["package-lock.json", "package.json", ".npmrc", "install-code-server.sh"])
def test_no_registry_is_named(name: str) -> None:
    text = (SOURCE / name).read_text(encoding="utf-8")
    assert "registry." not in text
    assert '"resolved"' not in text


def test_the_version_is_that_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{MANIFEST["version"]}"' in project

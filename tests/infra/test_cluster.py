"""The files for Ray's cluster launcher: against the schema and the checks that Ray ships, without a cloud."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from helpers.sources import ROOT
from helpers.usage_commands import parsed
from jsonschema import ValidationError
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.scripts.scripts import cli

FILES = sorted((ROOT / "infra" / "cluster").glob("*.yaml"))


def content(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param  # type: ignore[no-any-return]


def test_there_is_one_for_each_cloud() -> None:
    assert [content(path)["provider"]["type"] for path in FILES] == ["aws", "gcp"]


def test_rays_own_checks_take_the_file(file: Path) -> None:
    prepared = prepare_config(content(file))
    validate_config(prepared)
    assert prepared["available_node_types"]["head"]["max_workers"] == 0


def test_rays_own_checks_find_a_key_that_does_not_exist(file: Path) -> None:
    wrong = content(file) | {"idle_timeout_minute": 5}
    with pytest.raises(ValidationError, match="idle_timeout_minute"):
        validate_config(prepare_config(wrong))


def test_workers_come_when_they_are_needed_and_the_head_runs_none_of_the_work(file: Path) -> None:
    types = content(file)["available_node_types"]
    assert types["head"]["resources"]["CPU"] == 0
    workers = {name: node for name, node in types.items() if name != "head"}
    assert workers.keys() == {"cpu", "gpu"}
    assert {node["min_workers"] for node in workers.values()} == {0}


@pytest.mark.parametrize("kind", ["head_start_ray_commands", "worker_start_ray_commands"])
def test_the_commands_that_start_ray_are_rays_and_ask_for_the_token(file: Path, kind: str) -> None:
    stop, start = content(file)[kind]
    assert stop == "ray stop"
    mode, program, command, *options = shlex.split(start)
    assert (mode, program, command) == ("RAY_AUTH_MODE=token", "ray", "start")
    values = cli.commands["start"].make_context("ray start", options).params
    assert values["metrics_export_port"] == 8080
    if kind.startswith("head"):
        assert values["dashboard_host"] == "127.0.0.1"
        assert values["num_cpus"] == 0


def test_the_commands_in_the_header_are_those_of_ray_and_cocite(file: Path) -> None:
    shown = re.findall(r"^#   (.+?)(?:  +#.*)?$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(shown) == 5
    for line in shown:
        words = [word for word in shlex.split(line) if not word.startswith("RAY_")]
        if words[0] == "cocite":
            parsed(line)
            continue
        command = cli.commands[words[1]]
        assert isinstance(command, click.Command)
        command.make_context(words[1], words[2:])
        assert all((ROOT / word).is_file() for word in words if word.endswith(".yaml"))


def test_nothing_is_open_to_the_internet_and_the_token_travels(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "0.0.0.0" not in text
    assert content(file)["file_mounts"] == {"~/.ray/auth_token": "~/.ray/auth_token"}

"""Docker Compose itself reads the compose files: what is missing, how variables are put in, how the files merge.

`docker-compose config` needs no daemon.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.compose_files import COMPOSE, compose, environment

GPU = ("compose.yml", "compose.gpu.yml")
BINARY = Path(sys.executable).with_name("docker-compose")
pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="Docker Compose is installed on Linux alone")


def config(*files: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What Docker Compose makes of some files, in an environment of these variables alone."""
    options = [part for file in files for part in ("--file", str(COMPOSE / file))]
    command = [BINARY, *options, "config", "--format", "json"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def services(*files: str) -> dict[str, Any]:
    done = config(*files, **environment())
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "it warns"
    return json.loads(done.stdout)["services"]  # type: ignore[no-any-return]


def test_docker_compose_reads_the_files_as_the_other_tests_do() -> None:
    read, ours = services("compose.yml"), compose("compose.yml")["services"]
    assert read.keys() == ours.keys()
    for name, service in ours.items():
        assert read[name].get("image") == service.get("image")
        if isinstance(command := service.get("command"), list):
            assert read[name]["command"] == [str(part).replace("$$", "$") for part in command]


def test_the_gpu_file_adds_a_gpu_to_the_endpoint_and_changes_nothing_else() -> None:
    alone, merged = services("compose.yml"), services(*GPU)
    [device] = merged["endpoint"]["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["count"], device["capabilities"]) == ("nvidia", 1, ["gpu"])
    assert "--set=reranker.num_gpus=0.5" in merged["endpoint"]["command"]
    assert merged["endpoint"]["build"]["args"] == {"EXTRA": "gpu", "TORCH_INDEX": ""}
    changed = {"image", "build", "command", "deploy"}
    for name, service in alone.items():
        kept = {key: value for key, value in service.items() if name != "endpoint" or key not in changed}
        assert kept.items() <= merged[name].items(), name


@pytest.mark.parametrize("variable", ["COCITE_PASSWORD_HASH", "COCITE_DATA"])
def test_a_variable_that_has_to_be_given_is_asked_for(variable: str) -> None:
    given = {name: value for name, value in environment().items() if name != variable}
    done = config("compose.yml", **given)
    assert done.returncode != 0
    assert f"required variable {variable} is missing a value" in done.stderr

"""The image and the compose files without a daemon. Commands that run: test_image.py, test_compose_commands.py."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose
from helpers.compose_files import COMPOSE, compose
from helpers.dockerfile import DOCKERFILE, stages
from helpers.endpoint import free_port
from helpers.served_texts import texts_folders
from helpers.sources import PACKAGES, ROOT
from helpers.started_commands import started, until_answered
from helpers.usage_commands import parsed

FILES = ("compose.yml", "compose.gpu.yml")
IN_IMAGE = ("cocite", "ray", "mlflow")


def tool(name: str) -> str:
    """A program of the environment that runs the tests."""
    return str(Path(sys.executable).with_name(name))


def values(name: str) -> list[str]:
    """The arguments of all instructions of a name."""
    return [value for stage in stages() for value in stage.values(name)]


def test_hadolint_has_nothing_to_say() -> None:
    done = subprocess.run([tool("hadolint"), str(DOCKERFILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_image_is_installed_by_the_constraints_and_does_not_run_as_root() -> None:
    installs = [run for run in values("RUN") if "pip install" in run]
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in run for run in installs)
    assert values("USER") == ["10001"]
    names = [name for name, _ in stages()[-1].instructions]
    assert names.index("USER") > names.index("RUN")
    tags = [stage.image for stage in stages()]
    assert all(re.search(r":\d+\.\d+", image) for image in tags)
    python = re.search(r"python:(\d+\.\d+)", tags[-1])
    assert python is not None
    assert tuple(map(int, python[1].split("."))) >= (3, 11)


def test_what_is_copied_into_the_image_is_there_and_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    let_through = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    sources = {word for copy in values("COPY") if "--from" not in copy for word in copy.split()[:-1]}
    assert sources == let_through
    assert {folder.parent.name for folder in PACKAGES.values()} <= sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


@pytest.mark.parametrize("name", IN_IMAGE)
def test_the_commands_that_run_in_the_image_are_installed_with_cocite(name: str) -> None:
    """The image is made by the same constraints as this environment."""
    assert Path(tool(name)).is_file()


def test_the_builds_that_the_head_shows_name_arguments_that_there_are() -> None:
    lines = re.findall(r"^#   (docker build .*)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(line)
        assert ROOT / words[words.index("-f") + 1] == DOCKERFILE
        given = [word.partition("=")[0] for before, word in pairwise(words) if before == "--build-arg"]
        assert set(given) <= {value.partition("=")[0] for value in values("ARG")}


# -- compose --------------------------------------------------------------------------------------------------


def test_the_index_of_torchs_small_builds_is_the_users_to_name_and_reaches_every_cpu_image() -> None:
    assert "TORCH_INDEX=" in values("ARG")
    assert any('--extra-index-url "$TORCH_INDEX"' in run for run in values("RUN"))
    for name, wanted in (("compose.yml", "${TORCH_INDEX:-}"), ("compose.gpu.yml", "")):
        file = yaml.safe_load((COMPOSE / name).read_text(encoding="utf-8"))
        assert file["services"]["endpoint"].get("build", {})["args"]["TORCH_INDEX"] == wanted
    deploying = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    builds = [line for line in deploying.splitlines() if line.startswith("docker build ")]
    assert builds
    assert all('--build-arg TORCH_INDEX="$TORCH_INDEX"' in line for line in builds)


@pytest.mark.parametrize("name", FILES)
def test_a_compose_file_fits_the_specification(name: str) -> None:
    file = PyCompose.from_json(json.dumps(compose(name)))
    file.validate()
    file.to_spec()


def test_a_key_that_the_specification_does_not_have_is_found() -> None:
    content = compose("compose.yml")
    content["services"]["endpoint"]["comand"] = ["serve"]
    with pytest.raises(ValueError, match="comand"):
        PyCompose.from_json(json.dumps(content))


def test_the_proxy_alone_can_be_reached() -> None:
    services = compose("compose.yml")["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert {service.get("network_mode") for name, service in services.items() if name != "proxy"} == {
        "service:proxy"
    }
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


@pytest.mark.parametrize("name", FILES)
def test_the_endpoints_command_is_one_of_cocite(name: str) -> None:
    command = compose(name)["services"]["endpoint"]["command"]
    settings = parsed(" ".join(command))["settings"]
    assert str(settings.index) == "/data/index"
    if name == "compose.gpu.yml":
        assert settings.reranker.num_gpus == 0.5
    given = dict(option.split("=", 1) for option in command[2:])
    [target] = yaml.safe_load((ROOT / "infra" / "prometheus" / "prometheus.yml").read_text())[
        "scrape_configs"
    ][0]["static_configs"][0]["targets"]
    assert target == f"127.0.0.1:{given['--metrics-port']}"


def test_the_command_with_a_gpu_serves(tmp_path: Path) -> None:
    """In one process, which reserves no GPU of Ray: half of one is not there. All other options do their work."""
    texts_folders(tmp_path / "data")
    here = {"/data/": f"{tmp_path}/data/", "=8000": f"={free_port()}", "=9470": f"={free_port()}"}
    command = compose("compose.gpu.yml")["services"]["endpoint"]["command"]
    for old, new in here.items():
        assert any(old in word for word in command)
        command = [word.replace(old, new) for word in command]
    log = tmp_path / "log"
    with started([*command, "--on", "process"], log, {"XDG_STATE_HOME": str(tmp_path / "state")}) as endpoint:
        until_answered(endpoint, f"http://127.0.0.1:{here['=8000'][1:]}/v1/health", log)
        until_answered(endpoint, f"http://127.0.0.1:{here['=9470'][1:]}/metrics", log)
    assert endpoint.returncode == 0, log.read_text()


def test_every_mounted_file_of_the_repository_is_there() -> None:
    mounts = [v for s in compose("compose.yml")["services"].values() for v in s.get("volumes", ())]
    ours = [COMPOSE / mount.split(":")[0] for mount in mounts if mount.startswith("..")]
    assert len(ours) == 5
    assert [path for path in ours if not path.exists()] == []

"""The files for Ray's cluster launcher: against Ray's schema and those of the clouds, without a cloud."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import click
import jsonschema
import pytest
import yaml
from helpers.sources import ROOT
from helpers.usage_commands import parsed
from jsonschema import ValidationError
from moto import mock_aws
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.scripts.scripts import cli

AWS, GCP = (ROOT / "infra" / "cluster" / f"{name}.yaml" for name in ("aws", "gcp"))
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


# -- what the clouds are asked for -----------------------------------------------------------------------------


@contextmanager
def amazon() -> Iterator[None]:
    """Have moto answer for AWS, and leave what its S3 server has for other tests of this process."""
    mock = mock_aws()
    mock.start(reset=False)
    try:
        yield
    finally:
        mock.stop(remove_data=False)


def test_ray_starts_the_machines_of_amazon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``ray up`` asks of AWS until it has machines, which moto answers in this process; boto3 has their schema."""
    from ray.autoscaler._private.aws.node_provider import AWSNodeProvider

    # Ray keeps the private half of the key that it makes in the home folder.
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    file = content(AWS)
    kinds = file["available_node_types"]
    with amazon():
        ec2 = boto3.client("ec2", file["provider"]["region"])
        group = ec2.create_security_group(GroupName="cocite", Description="made before")["GroupId"]
        before = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]
        iam = boto3.client("iam", file["provider"]["region"])
        for role in ("head", "worker"):
            made = iam.create_instance_profile(InstanceProfileName=f"cocite-{role}")["InstanceProfile"]
            assert made["Arn"] in AWS.read_text(encoding="utf-8"), "moto's account has the example's number"
        for kind in kinds.values():
            assert kind["node_config"]["SecurityGroupIds"] == ["sg-0123456789abcdef0"]
            kind["node_config"]["SecurityGroupIds"] = [group]
        config = AWSNodeProvider.bootstrap_config(prepare_config(copy.deepcopy(file)))
        provider = AWSNodeProvider(config["provider"], config["cluster_name"])
        for name, kind in config["available_node_types"].items():
            role = "head" if name == config["head_node_type"] else "worker"
            tags = {"ray-node-type": role, "ray-user-node-type": name, "ray-node-name": name}
            provider.create_node(copy.deepcopy(kind["node_config"]), tags, 1)
        found = [i for entry in ec2.describe_instances()["Reservations"] for i in entry["Instances"]]
        # Ray's own group would let SSH in from everywhere.
        groups = ec2.describe_security_groups()["SecurityGroups"]
        assert {entry["GroupName"] for entry in groups} == {"default", "cocite"}
        assert ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"] == before
    types = {kind["node_config"]["InstanceType"] for kind in kinds.values()}
    assert {instance["InstanceType"] for instance in found} == types
    assert {entry["GroupId"] for instance in found for entry in instance["SecurityGroups"]} == {group}


def check_instances(file: dict[str, Any]) -> None:
    schema = json.loads((Path(__file__).parent / "gcp_instance.json").read_text(encoding="utf-8"))
    for kind in file["available_node_types"].values():
        jsonschema.validate(kind["node_config"], schema)


def test_the_machines_of_google_are_what_its_api_takes() -> None:
    check_instances(content(GCP))


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        # As Ray's own examples have it, and Google's API does not (Ray's issue 46248).
        ({"scheduling": [{"preemptible": True}]}, "is not of type 'object'"),
        ({"scheduling": {"preemptable": True}}, "preemptable"),
        ({"guestAccelerator": []}, "guestAccelerator"),
    ],
)
def test_a_machine_that_google_would_refuse_is_found(changed: dict[str, Any], refusal: str) -> None:
    file = content(GCP)
    file["available_node_types"]["gpu"]["node_config"] |= changed
    with pytest.raises(ValidationError, match=refusal):
        check_instances(file)


# -- the rest --------------------------------------------------------------------------------------------------


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

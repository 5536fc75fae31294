"""The commands in the files for Kubernetes: scripts of pods, options of Ray, and what their heads show."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.endpoint import free_port
from helpers.kubernetes_files import FOLDERS, JOBS, KUBECTL, KUBERNETES, job, only, rendered
from helpers.served_texts import texts_folders
from helpers.started_commands import started
from helpers.tiny_bert import tiny_bert
from helpers.usage_commands import parsed
from ray.scripts.scripts import cli

from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

REDIS_S = 60


@pytest.mark.parametrize("name", JOBS)
def test_the_command_of_a_job_is_one_of_cocite_and_its_cluster_is_there(name: str) -> None:
    spec = job(name)["spec"]
    assert parsed(spec["entrypoint"])
    cluster = spec["clusterSelector"]["ray.io/cluster"]
    assert cluster == only("jobs", "RayCluster")["metadata"]["name"]


def cron_job(name: str) -> dict[str, Any]:
    [found] = [r for r in rendered("serving") if (r["kind"], r["metadata"]["name"]) == ("CronJob", name)]
    return found["spec"]  # type: ignore[no-any-return]


def pod_of(name: str) -> dict[str, Any]:
    return cron_job(name)["jobTemplate"]["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def scripts(name: str) -> tuple[str, str]:
    """What a CronJob does with the index, and how it rolls that out."""
    pod = pod_of(name)
    return pod["initContainers"][0]["args"][0], pod["containers"][0]["args"][0]


def telling_kubectl(folder: Path) -> None:
    """A kubectl in ``folder/bin`` that tells what it was asked: no server is here to ask."""
    kubectl = folder / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    kubectl.chmod(0o755)


def assert_rolls_out(asked: subprocess.CompletedProcess[str], version: str) -> None:
    """Hold a roll-out to the annotation that the head of the service has."""
    assert asked.returncode == 0, asked.stderr
    *words, patch = asked.stdout.splitlines()
    assert words[:3] == ["patch", "rayservice", "cocite"]
    head = json.loads(patch)["spec"]["rayClusterConfig"]["headGroupSpec"]
    changed = head["template"]["metadata"]["annotations"]
    service = only("serving", "RayService")["spec"]["rayClusterConfig"]["headGroupSpec"]
    assert changed == {"cocite/release": version}
    assert changed.keys() == service["template"]["metadata"]["annotations"].keys()


def run_in(folder: Path, script: str, **replaced: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the nightly job with its folders below another one."""
    for path in ("data", "cache"):
        script = script.replace(f"/{path}/", f"{folder}/{path}/")
    binaries = Path(sys.executable).parent
    environment = {
        "PATH": f"{folder}/bin:{binaries}:/usr/bin:/bin",
        "HOME": str(folder),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # the cocite that these tests import
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, env=environment
    )


def test_the_nightly_job_adds_what_came_in_and_rolls_it_out(tmp_path: Path) -> None:
    from cocite.retrieval.index.snapshot import IndexSnapshot

    _, index = texts_folders(tmp_path / "data")
    for path in ("data/incoming", "cache"):
        (tmp_path / path).mkdir()
    add, roll_out = scripts("cocite-nightly")
    telling_kubectl(tmp_path)

    nothing = run_in(tmp_path, add)
    assert (nothing.returncode, nothing.stdout) == (0, "no new papers\n")
    assert run_in(tmp_path, roll_out).stdout == ""

    paper = {
        "id": "new",
        "title": "A new paper",
        "abstract": "Of today.",
        "year": 2026,
        "cites": ["papineni2002bleu"],
    }
    (tmp_path / "data" / "incoming" / "papers.jsonl").write_text(json.dumps(paper) + "\n")
    done = run_in(tmp_path, add)
    assert done.returncode == 0, done.stderr
    assert len(IndexSnapshot.open(index)) == 424
    assert list((tmp_path / "data" / "incoming").iterdir()) == []
    assert len(list((tmp_path / "data" / "added").iterdir())) == 1

    assert_rolls_out(run_in(tmp_path, roll_out), "000002")


def test_new_vectors_are_made_where_the_model_is_another_and_rolled_out(tmp_path: Path) -> None:
    from cocite.retrieval.index.snapshot import IndexSnapshot

    model, index = texts_folders(tmp_path / "data")
    (tmp_path / "cache").mkdir()
    reembed, roll_out = scripts("cocite-reembed")
    telling_kubectl(tmp_path)

    same = run_in(tmp_path, reembed)
    assert same.returncode == 0, same.stderr
    assert "no version is made" in same.stderr
    assert run_in(tmp_path, roll_out).stdout == ""

    before = IndexSnapshot.open(index).encoder_ids["sentence"]
    bert = tiny_bert(tmp_path / "other-bert", ["parsing"], seed=2)
    shutil.rmtree(model / "sentence")
    save_sentence_encoder(model / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=32), {})
    done = run_in(tmp_path, reembed)
    assert done.returncode == 0, done.stderr
    assert IndexSnapshot.open(index).encoder_ids.keys() == {"sentence"}
    assert IndexSnapshot.open(index).encoder_ids["sentence"] != before
    assert_rolls_out(run_in(tmp_path, roll_out), "000002")


def test_the_job_of_new_vectors_is_suspended_and_ends_before_the_nightly_one() -> None:
    reembed, nightly = cron_job("cocite-reembed"), cron_job("cocite-nightly")
    assert reembed["suspend"] is True
    ends = hour_of(reembed) + reembed["jobTemplate"]["spec"]["activeDeadlineSeconds"] / 3600
    assert ends <= 24 + hour_of(nightly)
    assert hour_of(nightly) + nightly["jobTemplate"]["spec"]["activeDeadlineSeconds"] / 3600 <= hour_of(
        reembed
    )
    # The network policy and the role of the nightly job are this one's, too.
    [policy] = [r for r in rendered("serving") if r["metadata"]["name"] == "nightly"]
    labels = reembed["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert (
        pod_of("cocite-reembed")["serviceAccountName"]
        == only("serving", "ServiceAccount")["metadata"]["name"]
    )


def hour_of(spec: dict[str, Any]) -> float:
    """When a CronJob begins, in hours of the day."""
    minute, hour, *_ = spec["schedule"].split()
    return int(hour) + int(minute) / 60


@pytest.mark.parametrize(("name", "action"), [("cocite-nightly", "add"), ("cocite-reembed", "reembed")])
def test_the_commands_of_a_cron_job_are_cocites(name: str, action: str) -> None:
    lines = [line.strip() for line in scripts(name)[0].splitlines()]
    [command] = [line for line in lines if line.startswith("cocite ")]
    assert parsed(command)["keep"] == 3
    assert shlex.split(command)[:3] == ["cocite", "index", action]


# -- redis -----------------------------------------------------------------------------------------------------


def test_redis_asks_for_its_password_and_keeps_what_it_was_told(tmp_path: Path) -> None:
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("no Redis on this machine (Debian: apt-get install redis-server)")
    [container] = only("serving", "StatefulSet")["spec"]["template"]["spec"]["containers"]
    port, data = str(free_port()), tmp_path / "data"
    data.mkdir()
    [name] = [entry["name"] for entry in container["env"]]
    shell, flag, script = container["command"]
    script = script.replace("--dir /data", f"--dir {data} --bind 127.0.0.1 --port {port}")

    def ask(*words: str, password: str = "secret") -> str:
        command = ["redis-cli", "-p", port, "--no-auth-warning", "-a", password, *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    def answers(process: subprocess.Popen[str], log: Path) -> None:
        deadline = time.monotonic() + REDIS_S
        while ask("ping") != "PONG":
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    for number, value in (("1", "OK"), ("2", "kept")):
        log = tmp_path / f"log-{number}"
        with started([shell, flag, script], log, {name: "secret"}) as redis:
            answers(redis, log)
            assert ask("set", "key", "kept") == value if number == "1" else ask("get", "key") == value
            assert "NOAUTH" in ask("get", "key", password="another")
        assert redis.returncode == 0, "the shell made way for the server, which SIGTERM ends in order"
    assert container["ports"][0]["containerPort"] == 6379, "the port that redis-server takes by itself"


# -- what KubeRay starts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_parameters_of_a_group_are_options_of_ray_start(folder: str) -> None:
    """KubeRay makes ``ray start`` of them, as it makes the rest: a head's, or a worker's with the head's address."""
    groups = [
        group
        for resource in rendered(folder)
        if resource["apiVersion"] == "ray.io/v1"
        for cluster in [resource["spec"].get("rayClusterConfig", resource["spec"])]
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
    ]
    assert len(groups) >= 2
    for group in groups:
        given = [f"--{name}={value}" for name, value in group["rayStartParams"].items()]
        is_head = "groupName" not in group
        begin = ["--head"] if is_head else ["--address=cocite-head-svc:6379"]
        values = cli.commands["start"].make_context("ray start", [*begin, "--block", *given]).params
        ports = {
            port["name"]: port["containerPort"]
            for port in group["template"]["spec"]["containers"][0].get("ports", ())
        }
        assert values["metrics_export_port"] == ports.get("metrics", 8080)
        assert values["num_cpus"] == (0 if is_head else None)


# -- what the heads of the files show --------------------------------------------------------------------------


def shown() -> list[tuple[str, str]]:
    """The commands in the comments of all files, each with its file; continued lines are joined."""
    found = []
    for path in sorted(KUBERNETES.rglob("*.yaml")):
        comments = re.findall(r"^ *#   (.*)$", path.read_text(encoding="utf-8").replace("\\\n", ""), re.M)
        lines = [re.sub(r" +#    +", " ", line) for line in comments]
        found += [(path.relative_to(KUBERNETES).as_posix(), line) for line in lines]
    return found


def test_the_commands_that_the_heads_show_are_those_of_kubectl_helm_and_cocite() -> None:
    programs = [line.split()[0] for _, line in shown()]
    assert set(programs) == {"kubectl", "helm", "cocite"}
    for path, line in shown():
        words = shlex.split(line)
        if words[0] == "cocite":
            assert parsed(line), path
        for file in (word for word in words if word.startswith("infra/")):
            assert (KUBERNETES.parents[1] / file).exists(), f"{path}: {file}"


@pytest.mark.parametrize(
    ("path", "line"), [(path, line) for path, line in shown() if "create secret" in line], ids=lambda _: ""
)
def test_the_secret_that_a_head_shows_is_the_one_that_the_pods_read(path: str, line: str) -> None:
    script = line.replace("kubectl ", f"{KUBECTL} ", 1) + " --dry-run=client --output=yaml"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    secret = yaml.safe_load(done.stdout)
    assert len(secret["data"]["password"]) == 64, "48 characters in base64"
    wanted = json.dumps({"key": "password", "name": secret["metadata"]["name"]})
    for kind in ("StatefulSet", "RayService"):
        assert wanted in json.dumps(only("serving", kind), sort_keys=True), path


def test_the_patch_that_a_head_shows_rolls_out(tmp_path: Path) -> None:
    [line] = [line for path, line in shown() if path == "serving/service.yaml"]
    telling_kubectl(tmp_path)
    namespace = " --namespace cocite"
    assert namespace in line
    assert_rolls_out(run_in(tmp_path, line.replace(namespace, "")), "2")

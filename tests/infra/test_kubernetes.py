"""The files for Kubernetes, as kustomize makes them: against schemas of Kubernetes, KubeRay, Ray and cocite."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import ray
import yaml
from helpers.served_texts import texts_folders
from helpers.sources import ROOT
from helpers.tiny_bert import tiny_bert
from helpers.usage_commands import parsed
from ray.serve.schema import ServeDeploySchema

from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite_serve.endpoint import ENVIRONMENT
from cocite_serve.proxy import CALLBACK
from cocite_serve.replicas.names import GATEWAYS, STAGES
from cocite_serve.serve_config import parse

KUBERNETES = ROOT / "infra" / "kubernetes"
FOLDERS = ("serving", "jobs", "overlays/gpu", "overlays/sharded")
SERVING = ("serving", "overlays/gpu", "overlays/sharded")
JOBS = ("train", "embed", "sweep")
VERSION = "1.34"
KUBERAY = json.loads((Path(__file__).parent / "kuberay.json").read_text(encoding="utf-8"))


@cache
def rendered(folder: str) -> tuple[dict[str, Any], ...]:
    """The resources of a folder, with its patches and images in place."""
    kubectl = Path(sys.executable).with_name("kubectl")
    done = subprocess.run([kubectl, "kustomize", KUBERNETES / folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def job(name: str) -> dict[str, Any]:
    return yaml.safe_load((KUBERNETES / "jobs" / f"{name}.yaml").read_text())  # type: ignore[no-any-return]


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    for folder in FOLDERS:
        for resource in rendered(folder):
            yield f"{folder}:{resource['kind']}/{resource['metadata']['name']}", resource
    for name in JOBS:
        yield f"jobs/{name}.yaml", job(name)


RESOURCES = dict(resources())


def only(folder: str, kind: str) -> dict[str, Any]:
    [found] = [resource for resource in rendered(folder) if resource["kind"] == kind]
    return found


def pods(part: Any, kind: str = "") -> Iterator[tuple[dict[str, Any], bool]]:
    """The templates of pods anywhere in a resource, and whether Ray runs in them."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "template" and "containers" in value.get("spec", {}):
                yield value, "rayStartParams" in part
            yield from pods(value)
    elif isinstance(part, list):
        for value in part:
            yield from pods(value)


def check(resource: dict[str, Any]) -> None:
    """Raise where a resource has a field that does not exist, or a value that does not fit."""
    if resource["apiVersion"] != "ray.io/v1":
        kubernetes_validate.validate(resource, VERSION, strict=True)
        return
    schema = {"$ref": f"#/$defs/{resource['kind']}", "$defs": KUBERAY["$defs"]}
    jsonschema.validate(resource["spec"], schema)
    for template, _ in pods(resource):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"} | template.get("metadata", {})}
        kubernetes_validate.validate(pod | {"spec": template["spec"]}, VERSION, strict=True)


@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_fits_its_schema(name: str) -> None:
    check(RESOURCES[name])


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("spec", "serveConfig"),
        ("spec.upgradeStrategy.clusterUpgradeOptions", "stepSize"),
        ("spec.rayClusterConfig.workerGroupSpecs.0", "maxReplica"),
        ("spec.rayClusterConfig.headGroupSpec.template.spec.containers.0", "imagePulPolicy"),
    ],
)
def test_a_field_that_does_not_exist_is_found(path: str, key: str) -> None:
    resource = json.loads(json.dumps(only("serving", "RayService")))
    place: Any = resource
    for step in path.split("."):
        place = place[int(step)] if step.isdigit() else place[step]
    place[key] = "x"
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError), match=key):
        check(resource)


@pytest.mark.parametrize("name", RESOURCES)
def test_no_container_runs_as_root_or_may_become_it(name: str) -> None:
    for template, _ in pods(RESOURCES[name]):
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert not container["image"].endswith(":latest")
            assert ":" in container["image"], "no version of the image is named"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_cluster_asks_for_its_token_and_its_head_runs_no_work(folder: str) -> None:
    clusters = [
        r["spec"].get("rayClusterConfig", r["spec"])
        for r in rendered(folder)
        if r["apiVersion"] == "ray.io/v1"
    ]
    assert len(clusters) == 1
    for cluster in clusters:
        assert cluster["authOptions"] == {"mode": "token"}
        assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
        assert cluster["enableInTreeAutoscaling"] is True
        assert cluster["rayVersion"] == ray.__version__, "the image has another Ray"
        for group in cluster["workerGroupSpecs"]:
            assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def test_a_group_of_the_jobs_cluster_has_gpus_and_starts_with_none() -> None:
    groups = {group["groupName"]: group for group in only("jobs", "RayCluster")["spec"]["workerGroupSpecs"]}
    [container] = groups["gpu"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert groups["gpu"]["minReplicas"] == 0


# -- what Ray Serve is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", SERVING)
def test_the_config_of_serve_is_one_and_its_settings_are_cocites(folder: str) -> None:
    spec = only(folder, "RayService")["spec"]
    config = ServeDeploySchema.model_validate(yaml.safe_load(spec["serveConfigV2"]))
    by_name = {app.name: app for app in config.applications}
    [stages] = [name for name in by_name if name.startswith(STAGES)]
    assert by_name.keys() == {stages, GATEWAYS}
    assert by_name[stages].route_prefix is None
    assert by_name[GATEWAYS].route_prefix == "/"
    assert by_name[stages].args == by_name[GATEWAYS].args
    settings = parse(by_name[stages].args)
    assert config.http_options.request_timeout_s == settings.request_timeout_s + 10
    # Every replica finds cores, and GPUs, on the workers that there are at first.
    [group] = spec["rayClusterConfig"]["workerGroupSpecs"]
    [container] = group["template"]["spec"]["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    assert environment["RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"] == CALLBACK
    requests, limits = container["resources"]["requests"], container["resources"]["limits"]
    cores = sum(stage.replicas * stage.num_cpus for stage in (settings.retriever, settings.reranker))
    gpus = settings.reranker.replicas * settings.reranker.num_gpus
    cores += 8 * settings.shards.replicas * settings.shards.num_cpus if folder == "overlays/sharded" else 0
    assert cores + settings.gateway.num_cpus <= group["minReplicas"] * float(requests["cpu"])
    assert gpus <= group["minReplicas"] * float(limits.get("nvidia.com/gpu", 0))
    if folder == "overlays/sharded":
        assert settings.request_timeout_s > 2 * settings.shards.round_s


@pytest.mark.parametrize("folder", SERVING)
def test_ray_serve_runs_as_cocite_serve_runs_it_and_logs_outlive_a_container(folder: str) -> None:
    state = dict(re.findall(r"(\w+)=(\S+)", (ROOT / "infra/docker/Dockerfile").read_text()))["XDG_STATE_HOME"]
    for template, _ in pods(only(folder, "RayService")):
        [container] = template["spec"]["containers"]
        environment = {entry["name"]: entry["value"] for entry in container["env"]}
        for name in ("RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S", "RAY_SERVE_USE_GRPC_BY_DEFAULT"):
            assert environment[name] == ENVIRONMENT[name]
        [volume] = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == state]
        assert {"name": volume, "emptyDir": {}} in template["spec"]["volumes"]


# -- what reaches what -----------------------------------------------------------------------------------------


def test_the_policies_let_through_the_ports_that_are_there_and_no_others() -> None:
    policies = {r["metadata"]["name"]: r["spec"] for r in rendered("serving") if r["kind"] == "NetworkPolicy"}
    assert policies["deny-all"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    service = only("serving", "RayService")["spec"]["rayClusterConfig"]
    served = {
        port["containerPort"]
        for group in (service["headGroupSpec"], *service["workerGroupSpecs"])
        for port in group["template"]["spec"]["containers"][0]["ports"]
    }
    opened = {port["port"] for rule in policies["ray"]["ingress"] for port in rule.get("ports", [])}
    assert opened - {52365} <= served, "52365 is Ray's own agent on every node"
    unlimited = [rule for rule in policies["ray"]["ingress"] if "ports" not in rule]
    assert unlimited == [{"from": [{"podSelector": {"matchLabels": {"app": "cocite"}}}]}]
    for template, is_ray in pods(only("serving", "RayService")):
        assert is_ray
        assert template["metadata"]["labels"]["app"] == "cocite"
    metrics = service["headGroupSpec"]["rayStartParams"]["metrics-export-port"]
    assert int(metrics) in opened


def policies(folder: str) -> list[dict[str, Any]]:
    return [resource["spec"] for resource in rendered(folder) if resource["kind"] == "NetworkPolicy"]


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}, "a selector that this test does not know"
    return selector.get("matchLabels", {}).items() <= labels.items()


def lets_in(folder: str, labels: dict[str, str], peer: dict[str, Any], port: int) -> bool:
    """Whether a policy of the folder lets ``peer`` reach a port of the pods with these labels."""
    rules = [
        rule
        for spec in policies(folder)
        if selects(spec["podSelector"], labels)
        for rule in spec.get("ingress", [])
    ]
    return any(
        peer in rule["from"] and port in [entry["port"] for entry in rule.get("ports", [{"port": port}])]
        for rule in rules
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_policy_of_its_own_names_what_each_pod_may_reach_and_be_reached_by(folder: str) -> None:
    for resource in rendered(folder):
        for template, _ in pods(resource):
            labels = template["metadata"]["labels"]
            covering = [spec for spec in policies(folder) if selects(spec["podSelector"], labels)]
            assert {kind for spec in covering for kind in spec["policyTypes"]} == {"Ingress", "Egress"}
            named = [spec for spec in covering if spec["podSelector"]]
            assert named, f"{labels} can neither reach nor be reached"


def test_the_policies_of_jobs_and_endpoint_may_lie_in_one_namespace() -> None:
    """Applied together, no policy of one folder takes away or opens what the other's pods need."""
    names = [
        {resource["metadata"]["name"] for resource in rendered(folder) if resource["kind"] == "NetworkPolicy"}
        for folder in ("serving", "jobs")
    ]
    assert not names[0] & names[1], "to delete one folder would delete a policy of the other"
    apps = [
        {
            template["metadata"]["labels"]["app"]
            for resource in rendered(folder)
            for template, _ in pods(resource)
        }
        for folder in ("serving", "jobs")
    ]
    assert not apps[0] & apps[1]


@pytest.mark.parametrize("name", JOBS)
def test_whoever_sends_a_ray_job_reaches_the_head(name: str) -> None:
    spec = job(name)["spec"]
    assert spec["submissionMode"] == "HTTPMode", "the pod that submits by default has no policy"
    assert "submitterPodTemplate" not in spec
    head = only("jobs", "RayCluster")["spec"]["headGroupSpec"]["template"]["metadata"]["labels"]
    operator = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kuberay-operator"}}}
    assert lets_in("jobs", head, operator, 8265)
    assert not lets_in("jobs", head, operator, 6379)


def test_the_nightly_job_may_patch_one_service_and_nothing_else() -> None:
    [rule] = only("serving", "Role")["rules"]
    assert rule["resourceNames"] == [only("serving", "RayService")["metadata"]["name"]]
    assert set(rule["verbs"]) == {"get", "patch"}


# -- the commands ----------------------------------------------------------------------------------------------


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
    from cocite.corpus.starter import build_starter
    from cocite.retrieval.index.snapshot import IndexSnapshot

    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "data" / "index")
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
    # The index of this test was made without a model.
    done = run_in(tmp_path, add.replace(f" --model {'/data/model'}", ""))
    assert done.returncode == 0, done.stderr
    assert len(IndexSnapshot.open(tmp_path / "data" / "index")) == 424
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

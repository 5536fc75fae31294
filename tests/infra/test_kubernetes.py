"""The files for Kubernetes, as kustomize makes them: against schemas of Kubernetes, KubeRay, Ray and cocite."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import ray
import yaml
from helpers.kubernetes_files import FOLDERS, JOBS, SERVING, job, only, pods, rendered, resources
from helpers.sources import ROOT
from ray.serve.schema import ServeDeploySchema

from cocite_serve.endpoint import ENVIRONMENT
from cocite_serve.proxy import CALLBACK
from cocite_serve.replicas.names import GATEWAYS, STAGES
from cocite_serve.serve_config import parse

RESOURCES = dict(resources())
VERSION = "1.34"
KUBERAY = json.loads((Path(__file__).parent / "kuberay.json").read_text(encoding="utf-8"))
OF_A_CONTAINER = (
    "image",
    "imagePullPolicy",
    "resources",
    "securityContext",
    "env",
    "envFrom",
    "volumeMounts",
)
"""Fields of KubeRay's options of the autoscaler that a container has, too."""


def kubernetes_own(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What Kubernetes defines of a resource of KubeRay, as specs of pods: templates, containers, environment."""
    for template, _ in pods(resource):
        yield template["spec"]
    cluster = resource["spec"].get("rayClusterConfig", resource["spec"])
    options = cluster.get("autoscalerOptions", {})
    container = {name: value for name, value in options.items() if name in OF_A_CONTAINER}
    credentials = cluster.get("gcsFaultToleranceOptions", {})
    container.setdefault("env", []).extend(
        {"name": "X"} | credentials[name]
        for name in ("redisUsername", "redisPassword")
        if name in credentials
    )
    yield {"containers": [{"name": "x", **container}]}


def check(resource: dict[str, Any]) -> None:
    """Raise where a resource has a field that does not exist, or a value that does not fit."""
    if resource["apiVersion"] != "ray.io/v1":
        kubernetes_validate.validate(resource, VERSION, strict=True)
        return
    schema = {"$ref": f"#/$defs/{resource['kind']}", "$defs": KUBERAY["$defs"]}
    jsonschema.validate(resource["spec"], schema)
    metadata = [template.get("metadata", {}) for template, _ in pods(resource)]
    for spec, given in zip(kubernetes_own(resource), [*metadata, {}], strict=True):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"} | given, "spec": spec}
        kubernetes_validate.validate(pod, VERSION, strict=True)


@pytest.mark.parametrize("name", RESOURCES)
def test_a_resource_fits_its_schema(name: str) -> None:
    check(RESOURCES[name])


def at(resource: Any, path: str) -> Any:
    """The place in a resource that a path of keys and positions leads to."""
    for step in path.split("."):
        resource = resource[int(step)] if step.isdigit() else resource[step]
    return resource


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
    resource = copy.deepcopy(only("serving", "RayService"))
    at(resource, path)[key] = "x"
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError), match=key):
        check(resource)


@pytest.mark.parametrize(
    ("name", "path", "changed", "refusal"),
    [
        ("serving:RayService/cocite", "spec", {"rayClusterConfig": None}, "rayClusterConfig"),
        ("serving:RayService/cocite", "spec.upgradeStrategy", {"clusterUpgradeOptions": None}, "Options"),
        (
            "serving:RayService/cocite",
            "spec.rayClusterConfig",
            {"enableInTreeAutoscaling": False},
            "True was",
        ),
        ("serving:RayService/cocite", "spec.rayClusterConfig", {"rayVersion": None}, "rayVersion"),
        (
            "serving:RayService/cocite",
            "spec.rayClusterConfig.gcsFaultToleranceOptions",
            {"redisAddress": None},
            "redisAddress",
        ),
        (
            "serving:RayService/cocite",
            "spec.rayClusterConfig.gcsFaultToleranceOptions.redisPassword",
            {"valueFrom": {"secretKeyReff": {}}},
            "secretKeyReff",
        ),
        ("jobs:RayCluster/cocite-jobs", "spec.workerGroupSpecs.0", {"minReplicas": None}, "minReplicas"),
        ("jobs:RayCluster/cocite-jobs", "spec.workerGroupSpecs.0", {"replicas": 2**31}, "maximum"),
        ("jobs:RayCluster/cocite-jobs", "spec.autoscalerOptions.resources", {"limit": {}}, "limit"),
        ("jobs/train.yaml", "spec", {"clusterSelector": None}, "rayClusterSpec"),
        ("jobs/train.yaml", "spec", {"clusterSelector": {"app": "cocite"}}, "ray.io/cluster"),
        ("jobs/train.yaml", "spec", {"backoffLimit": 1}, "0 was expected"),
        ("jobs/train.yaml", "spec", {"submissionMode": "SidecarMode"}, "SidecarMode"),
    ],
)
def test_what_kuberay_would_refuse_is_found(
    name: str, path: str, changed: dict[str, Any], refusal: str
) -> None:
    """None stands for a field that is taken out."""
    resource = copy.deepcopy(RESOURCES[name])
    place = at(resource, path)
    place |= changed
    for key in [key for key, value in changed.items() if value is None]:
        del place[key]
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError), match=refusal):
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

"""The config that KubeRay hands to Ray Serve, given to a real cluster in the way that KubeRay does it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from helpers.endpoint import free_port
from helpers.ray_head import head
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.sources import ROOT

from benchmarks._releases import changed, random
from cocite.corpus.starter import build_starter
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot

pytestmark = pytest.mark.integration
START_S = 500
"""Seconds for a machine that does other things too; usually 45."""
DEPLOY = ROOT / "docs" / "deploy.md"
APPLICATIONS = "/api/serve/applications/"


def deploy(dashboard: httpx.Client, config: dict[str, Any]) -> None:
    """Send a config; on a busy machine Ray's dashboard answers 500 while Serve's controller starts."""
    end = time.monotonic() + START_S
    while (answer := dashboard.put(APPLICATIONS, json=config)).status_code == 500 and time.monotonic() < end:
        time.sleep(2)
    answer.raise_for_status()


def config(
    index: Path, port: int, logs: Path, model: Path | None = None, beside: Path | None = None
) -> dict[str, Any]:
    """The config of infra/kubernetes over another index and model, on another port of this machine.

    ``beside`` is the index of a second release, whose application is the one of docs/deploy.md.
    """
    service = yaml.safe_load((ROOT / "infra" / "kubernetes" / "serving" / "service.yaml").read_text())
    content = yaml.safe_load(service["spec"]["serveConfigV2"])
    content["http_options"] |= {"host": "127.0.0.1", "port": port}
    small = {
        "index": str(index),
        "model": None if model is None else str(model),
        "retriever": {"replicas": 1},
        "reranker": {"replicas": 1},
    }
    for application in content["applications"]:
        assert application["args"].keys() == small.keys()
        application["args"] = small
    small["logs"] = {"folder": str(logs)}
    if beside is not None:
        small["beside"] = {"index": str(beside), "traffic": "split", "share": 1.0}
        [block] = re.findall(r"```yaml\n( +- name: cocite-beside-1.*?)```", DEPLOY.read_text(), re.DOTALL)
        [second] = yaml.safe_load(block.replace("*settings", "{}"))
        content["applications"].append(second | {"args": small})
    return content  # type: ignore[no-any-return]


def settled(dashboard: httpx.Client) -> dict[str, Any]:
    """The applications once none of them is being deployed."""
    deadline = time.monotonic() + START_S
    while True:
        apps: dict[str, Any] = dashboard.get(APPLICATIONS).json()["applications"]
        if apps and {app["status"] for app in apps.values()} <= {"RUNNING", "DEPLOY_FAILED"}:
            return apps
        assert time.monotonic() < deadline, {name: app["message"] for name, app in apps.items()}
        time.sleep(1)


def outcomes(logs: Path) -> list[dict[str, Any]]:
    """What the operator's log says of releases, in the order of its lines."""
    lines = [
        json.loads(line) for path in logs.glob("endpoint-*.jsonl") for line in path.read_text().splitlines()
    ]
    return sorted((line for line in lines if "outcome" in line), key=lambda line: line["time"])


def test_the_applications_come_up_and_answer_with_their_shards_and_not_with_a_broken_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine Ray's agent comes up later than the 30 s after which the node manager ends itself.
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "240000")
    corpus = build_starter(tmp_path / "corpus")
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    IndexSnapshot.create(corpus, tmp_path / "whole")
    sound = cross_encoder_folder(tmp_path)
    make_golden_queries(sound, tmp_path / "whole")
    broken = changed(sound, tmp_path / "broken", random)
    port, logs = free_port(), tmp_path / "logs"
    with head(tmp_path, cpus=6) as cluster:
        token = Path(cluster.environment["RAY_AUTH_TOKEN_PATH"]).read_text()
        with httpx.Client(
            base_url=cluster.dashboard, headers={"Authorization": f"Bearer {token}"}, timeout=START_S
        ) as dashboard:
            assert httpx.put(f"{cluster.dashboard}{APPLICATIONS}", json={}, timeout=START_S).status_code in (
                401,
                403,
            )
            # A model of random weights, which has the golden queries of another one: no gateway comes up.
            deploy(dashboard, config(tmp_path / "whole", port, logs, broken))
            apps = settled(dashboard)
            assert apps["cocite"]["status"] == "DEPLOY_FAILED"
            assert "the scores of cross-encoder" in apps["cocite"]["message"]
            assert not apps["cocite"]["deployments"]
            told = outcomes(logs)  # one of each attempt: Ray builds an application four times
            release = f"{broken} over {tmp_path / 'whole'}"
            assert {(line["outcome"], line["release"]) for line in told} == {("refused", release)}
            assert all("the scores of cross-encoder" in line["why"] for line in told)
            dashboard.delete(APPLICATIONS).raise_for_status()

            deploy(dashboard, config(tmp_path / "index", port, logs, beside=tmp_path / "whole"))
            apps = settled(dashboard)
            statuses = {name: app["status"] for name, app in apps.items()}
            messages = {name: app["message"] for name, app in apps.items()}
            assert statuses == dict.fromkeys(("cocite-stages-1", "cocite-beside-1", "cocite"), "RUNNING"), (
                messages
            )
            assert [line["outcome"] for line in outcomes(logs)[len(told) :]] == ["beside", "served"]
            deployments = apps["cocite-stages-1"]["deployments"].keys()
            assert deployments == {"Retriever", "Shard-1-of-2", "Shard-2-of-2"}
            body = {"context": "We measure the quality of translations with BLEU [CIT]."}
            # As a canary: all clients get the second release, unless they name the served one.
            canary = httpx.post(f"http://127.0.0.1:{port}/v1/recommend", json=body, timeout=120)
            assert (canary.status_code, canary.json()["release"]) == (200, "beside"), canary.text
            answer = httpx.post(
                f"http://127.0.0.1:{port}/v1/recommend", json=body | {"release": "served"}, timeout=120
            )
            assert answer.status_code == 200, answer.text
            assert answer.json()["shards"] == {"answered": 2, "of": 2, "missing": []}
            second = httpx.post(
                f"http://127.0.0.1:{port}/v1/recommend", json=body | {"release": "beside"}, timeout=120
            )
            assert second.status_code == 200, second.text
            assert second.json()["release"] == "beside"
            assert second.json()["shards"] is None
            assert second.json()["papers"][0]["id"] == answer.json()["papers"][0]["id"]
            dashboard.delete(APPLICATIONS).raise_for_status()

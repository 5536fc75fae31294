"""The config that KubeRay hands to Ray Serve, given to a real cluster in the way that KubeRay does it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from helpers.endpoint import free_port
from helpers.ray_head import head
from helpers.sources import ROOT

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.sharded_index import ShardedIndex

pytestmark = pytest.mark.integration
START_S = 500
"""Seconds for a machine that does other things too; usually 45."""


def config(index: Path, port: int) -> dict[str, Any]:
    """The config of infra/kubernetes over another index, without a model, on another port of this machine."""
    service = yaml.safe_load((ROOT / "infra" / "kubernetes" / "serving" / "service.yaml").read_text())
    content = yaml.safe_load(service["spec"]["serveConfigV2"])
    content["http_options"] |= {"host": "127.0.0.1", "port": port}
    small = {"index": str(index), "model": None, "retriever": {"replicas": 1}, "reranker": {"replicas": 1}}
    for application in content["applications"]:
        assert application["args"].keys() == small.keys()
        application["args"] = small
    return content  # type: ignore[no-any-return]


def test_the_applications_of_the_config_come_up_and_answer_with_their_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine Ray's agent comes up later than the 30 s after which the node manager ends itself.
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "240000")
    ShardedIndex.create(build_starter(tmp_path / "corpus"), tmp_path / "index", shards=2)
    port = free_port()
    with head(tmp_path, cpus=6) as cluster:
        token = Path(cluster.environment["RAY_AUTH_TOKEN_PATH"]).read_text()
        with httpx.Client(
            base_url=cluster.dashboard, headers={"Authorization": f"Bearer {token}"}, timeout=60
        ) as dashboard:
            applications = "/api/serve/applications/"
            assert httpx.put(f"{cluster.dashboard}{applications}", json={}, timeout=60).status_code in (
                401,
                403,
            )
            dashboard.put(applications, json=config(tmp_path / "index", port)).raise_for_status()
            deadline = time.monotonic() + START_S
            while time.monotonic() < deadline:
                apps = dashboard.get(applications).json()["applications"]
                statuses = {name: app["status"] for name, app in apps.items()}
                assert "DEPLOY_FAILED" not in statuses.values(), {
                    n: app["message"] for n, app in apps.items()
                }
                if statuses and {*statuses.values()} == {"RUNNING"}:
                    break
                time.sleep(1)
            assert statuses == {"cocite-stages-1": "RUNNING", "cocite": "RUNNING"}
            deployments = apps["cocite-stages-1"]["deployments"].keys()
            assert deployments == {"Retriever", "Shard-1-of-2", "Shard-2-of-2"}
            body = {"context": "We measure the quality of translations with BLEU [CIT]."}
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/recommend", json=body, timeout=120)
            assert answer.status_code == 200, answer.text
            assert answer.json()["shards"] == {"answered": 2, "of": 2, "missing": []}
            dashboard.delete(applications).raise_for_status()

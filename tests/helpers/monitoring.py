"""The queries of the dashboard and of the alerts under infra/, and a real Prometheus that runs them."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from helpers.compose_files import compose
from helpers.endpoint import free_port
from helpers.sources import ROOT

PROMETHEUS = ROOT / "infra" / "prometheus"
DASHBOARD = ROOT / "infra" / "grafana" / "dashboards" / "cocite.json"
START_S = 60


def alerts() -> list[dict[str, Any]]:
    """The alert rules, in order."""
    content = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text(encoding="utf-8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """The dashboard, as Grafana reads it."""
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def panel_queries() -> dict[str, str]:
    """Query of each panel's target, by the panel's title and the target's letter."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in dashboard()["panels"]
        for target in panel["targets"]
    }


def metrics_of(query: str) -> set[str]:
    """Names of the metrics of Ray and cocite that a query reads; of a histogram, without its suffix."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bray_\w+", query)}


@contextmanager
def prometheus(binary: str, target: str, folder: Path) -> Iterator[str]:
    """Run Prometheus by the command of infra/compose, on another port and other folders; yields its URL.

    It has the configuration under infra/, and scrapes a target every second.
    """
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (folder / "alerts.yml").write_text((PROMETHEUS / "alerts.yml").read_text(encoding="utf-8"))
    url = f"http://127.0.0.1:{free_port()}"
    here = {"/etc/prometheus": str(folder), "=/prometheus": f"={folder}/data"}
    here["127.0.0.1:9090"] = url.removeprefix("http://")
    words = "\n".join(compose("compose.yml")["services"]["prometheus"]["command"])
    for old, new in here.items():
        assert old in words
        words = words.replace(old, new)
    command = [binary, *words.split("\n")]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + START_S
        while not _ready(url):
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            assert time.monotonic() < deadline, (folder / "prometheus.log").read_text()
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(START_S)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def ask(url: str, query: str) -> list[dict[str, Any]]:
    """The result of a query now; Grafana's own variable stands for a minute."""
    params = {"query": query.replace("$__rate_interval", "1m")}
    answer = httpx.get(f"{url}/api/v1/query", params=params, timeout=30).json()
    assert answer["status"] == "success", (query, answer)
    return answer["data"]["result"]  # type: ignore[no-any-return]

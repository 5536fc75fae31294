"""What a running endpoint tells Prometheus, and that nothing of its private Ray can be reached from elsewhere."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest
from helpers.endpoint import Running
from helpers.monitoring import alerts, ask, metrics_of, panel_queries, prometheus

from cocite_serve.http.metrics import GatewayMetrics, exported_names
from cocite_serve.replicas.batch_metrics import BatchMetrics
from cocite_serve.replicas.clicks import ClickCounter
from cocite_serve.replicas.release_metrics import ReleaseMetrics
from cocite_serve.rollouts.outcomes import Outcomes

pytestmark = pytest.mark.integration
CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
SOON_S = 240
"""Seconds for values to reach Ray's metrics agent on a busy machine; usually ten."""
NOT_HERE = {
    "ray_cocite_partial_answers_total": "the index is not divided into shards",
    "ray_cocite_rejected_total": "the alerts' reasons do not occur",
    "ray_cocite_rollouts_total": "this endpoint follows nothing; tests/integration/test_rollouts.py reads them",
    "ray_cocite_refused_releases": "the same",
    "ray_cocite_batch_padding": "the cross-encoder, if there is one, is of BERT's family and is not padded",
    "ray_cocite_queued_requests": "a replica tells it while it has requests",
    "ray_cocite_queued_seconds": "a replica tells it while it has requests",
    **dict.fromkeys(
        (*exported_names(ReleaseMetrics()), *exported_names(ClickCounter())),
        "no second release is loaded; tests/integration/test_beside.py reads them",
    ),
}


@pytest.fixture(scope="module")
def scraped(endpoint: Running, metrics_port: int) -> str:
    """The metrics after two recommendations and a refusal, as Prometheus reads them."""
    for body in ({"context": CONTEXT}, {"context": CONTEXT}, {"context": ""}):
        httpx.post(f"{endpoint.url}/v1/recommend", json=body, timeout=120)
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        text = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=60).text
        if 'reason="invalid"' in text and not missing(text) and counted(text):
            return text
        time.sleep(1)
    raise AssertionError(f"the values did not come within {SOON_S} s; missing: {missing(text)}")


def missing(text: str) -> set[str]:
    """Metrics that the dashboard or an alert reads and that are not exported yet, but should be here."""
    exported = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    return read_metrics() - exported - NOT_HERE.keys()


def read_metrics() -> set[str]:
    read = {name for query in panel_queries().values() for name in metrics_of(query)}
    return read | {name for rule in alerts() for name in metrics_of(rule["expr"])}


def counted(text: str) -> bool:
    """Whether the three requests are in the series that each process exports by itself."""
    counts = {
        'requests_total{.*path="/v1/recommend".*status="200"': 2,
        'requests_total{.*path="/v1/recommend".*status="422"': 1,
        'request_seconds_count{.*path="/v1/recommend"': 3,
        'stage_seconds_count{.*stage="retrieve"': 2,
        'stage_seconds_count{.*stage="rerank"': 2,
        "index_info{": 1,
        "model_info{": 1,
        "index_papers{": 1,
        "index_created_timestamp_seconds{": 1,
    }
    values = {name: re.search(rf"^ray_cocite_{name}.* (\S+)$", text, re.MULTILINE) for name in counts}
    return all(found is not None and float(found[1]) >= counts[name] for name, found in values.items())


def value(text: str, name: str, /, **labels: str) -> float:
    """The value of the one series of a metric with some labels."""
    lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
    lines = [line for line in lines if all(f'{key}="{label}"' in line for key, label in labels.items())]
    assert len(lines) == 1, lines
    return float(lines[0].rpartition(" ")[2])


def test_nothing_listens_but_on_the_loopback_address(endpoint: Running) -> None:
    process = psutil.Process(endpoint.process.pid)
    listening = []
    for each in (process, *process.children(recursive=True)):
        try:
            sockets = each.net_connections(kind="inet")
        except psutil.NoSuchProcess:
            continue
        listening += [(each.name(), s.laddr) for s in sockets if s.status == psutil.CONN_LISTEN]
    assert len(listening) > 8, "the control store, the node manager, the agents, the replicas"
    open_ = [(name, at) for name, at in listening if not is_loopback(at.ip)]
    assert open_ == [], "Ray opens a port in a way that cocite does not know of"


def test_rays_processes_wait_for_the_end_of_a_slice_and_none_is_idle(endpoint: Running) -> None:
    below = psutil.Process(endpoint.process.pid).children(recursive=True)
    policies = {" ".join(each.cmdline()): os.sched_getscheduler(each.pid) for each in below}
    assert len(policies) > 8, "the control store, the node manager, the agents, the replicas"
    assert [title for title, policy in policies.items() if policy != os.SCHED_BATCH] == []
    assert [title for title in policies if title.startswith("ray::IDLE")] == []


def is_loopback(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def test_requests_times_and_versions_are_exported(scraped: str) -> None:
    recommended = {"path": "/v1/recommend"}
    assert value(scraped, "ray_cocite_requests_total", **recommended, status="200") >= 2
    assert value(scraped, "ray_cocite_requests_total", **recommended, status="422") >= 1
    assert value(scraped, "ray_cocite_request_seconds_count", **recommended) >= 3
    for stage in ("retrieve", "rerank"):
        assert value(scraped, "ray_cocite_stage_seconds_count", stage=stage) >= 2
        assert value(scraped, "ray_cocite_stage_seconds_sum", stage=stage) > 0
    assert value(scraped, "ray_cocite_index_info", version="000001") == 1
    assert value(scraped, "ray_cocite_model_info", name="") == 1
    assert value(scraped, "ray_cocite_index_papers") == 423
    assert 0 < time.time() - value(scraped, "ray_cocite_index_created_timestamp_seconds") < 3600


def test_the_dashboard_and_the_alerts_read_metrics_that_are_exported(scraped: str) -> None:
    assert len(read_metrics()) > 15
    assert missing(scraped) == set()
    ours = {*exported_names(GatewayMetrics()), *exported_names(BatchMetrics("retriever"))}
    others = (Outcomes(), ReleaseMetrics(), ClickCounter())
    assert NOT_HERE.keys() <= ours.union(*map(exported_names, others))


@pytest.fixture(scope="module")
def database(
    scraped: str, endpoint: Running, metrics_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("no Prometheus on this machine (Debian: apt-get install prometheus)")
    with prometheus(binary, f"127.0.0.1:{metrics_port}", tmp_path_factory.mktemp("prometheus")) as url:
        deadline = time.monotonic() + SOON_S
        # A rate needs requests between two scrapes.
        while time.monotonic() < deadline and not ask(
            url, "sum(rate(ray_cocite_stage_seconds_count[1m])) > 0"
        ):
            httpx.post(f"{endpoint.url}/v1/recommend", json={"context": CONTEXT}, timeout=120)
            time.sleep(1)
        yield url


def test_prometheus_answers_every_query_of_the_dashboard(database: str) -> None:
    left = {
        title: query for title, query in panel_queries().items() if not metrics_of(query) & NOT_HERE.keys()
    }
    deadline = time.monotonic() + SOON_S
    while left and time.monotonic() < deadline:  # a busy machine reports its memory and disk late
        left = {title: query for title, query in left.items() if not ask(database, query)}
        if left:
            time.sleep(1)
    assert left == {}
    for query in panel_queries().values():
        ask(database, query)  # those of what does not happen here are at least answered


def test_prometheus_loads_every_alert_and_none_fires_on_an_endpoint_at_rest(database: str) -> None:
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        groups = httpx.get(f"{database}/api/v1/rules", timeout=30).json()["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        if all(rule["health"] != "unknown" for rule in rules):
            break
        time.sleep(1)
    assert [rule["name"] for rule in rules] == [rule["alert"] for rule in alerts()]
    assert {rule["health"] for rule in rules} == {"ok"}
    # This machine's own memory and disk are not the test's.
    firing = {rule["name"] for rule in rules if rule["state"] == "firing"}
    assert firing - {"CociteMemoryLow", "CociteDiskFull"} == set()

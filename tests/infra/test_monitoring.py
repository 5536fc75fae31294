"""The alert rules, their runbook and the dashboard; with a running endpoint: tests/integration/endpoint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from helpers.monitoring import PROMETHEUS, alerts, dashboard, metrics_of, panel_queries
from helpers.sources import ROOT

from cocite_serve.http.metrics import GatewayMetrics, exported_names
from cocite_serve.replicas.batch_metrics import BatchMetrics
from cocite_serve.replicas.clicks import ClickCounter
from cocite_serve.replicas.release_metrics import ReleaseMetrics
from cocite_serve.rollouts.outcomes import Outcomes

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
PROVISIONING = ROOT / "infra" / "grafana" / "provisioning"
SCHEMAS = json.loads((Path(__file__).parent / "grafana_provisioning.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool on this machine (Debian: apt-get install prometheus)")
    return found


@pytest.mark.parametrize(
    "arguments", [("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")]
)
def test_promtool_takes_the_configuration_and_each_alert_fires_when_it_should(
    promtool: str, arguments: tuple[str, ...]
) -> None:
    done = subprocess.run([promtool, *arguments], cwd=PROMETHEUS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested() -> None:
    tests = (PROMETHEUS / "alerts_test.yml").read_text(encoding="utf-8")
    assert [rule["alert"] for rule in alerts() if not re.search(rf"\b{rule['alert']}\b", tests)] == []


def test_every_alert_has_a_section_of_the_runbook_and_every_section_an_alert() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE) == names
    for rule in alerts():
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_the_panels_that_the_runbook_names_are_there() -> None:
    titles = {panel["title"] for panel in dashboard()["panels"]}
    named = {
        name
        for names in re.findall(r"[Pp]anels? (\*[^*]+\*)", RUNBOOK)
        for name in re.findall(r"\*([^*]+)\*", names)
    }
    assert len(named) > 4
    assert named - titles == set()


def unknown_parts(given: Any, kept: Any, where: str = "") -> list[str]:
    """The keys and values of a document that its model did not keep."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [
            part
            for key, value in given.items()
            for part in (
                unknown_parts(value, kept[key], f"{where}/{key}") if key in kept else [f"{where}/{key}"]
            )
        ]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [
            part
            for i, pair in enumerate(zip(given, kept, strict=True))
            for part in unknown_parts(*pair, f"{where}[{i}]")
        ]
    return [] if given == kept else [where]


def through_grafanas_model(document: dict[str, Any]) -> dict[str, Any]:
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(document)))  # type: ignore[no-any-return]


def test_the_dashboard_is_what_grafanas_own_model_knows() -> None:
    assert unknown_parts(dashboard(), through_grafanas_model(dashboard())) == []


def test_the_comparison_with_the_model_finds_what_it_should() -> None:
    wrong = dashboard()
    wrong["panels"][0]["fieldConfig"]["defaults"]["unyt"] = "s"
    wrong["panels"][5]["targets"][0]["exprr"] = "up"
    assert unknown_parts(wrong, through_grafanas_model(wrong)) == [
        "/panels[0]/fieldConfig/defaults/unyt",
        "/panels[5]/targets[0]/exprr",
    ]


def test_the_panels_do_not_overlap_and_all_read_the_provisioned_source() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    [source] = yaml.safe_load((PROVISIONING / "datasources" / "prometheus.yml").read_text())["datasources"]
    read = {target["datasource"]["uid"] for panel in dashboard()["panels"] for target in panel["targets"]}
    assert read == {source["uid"]}


def test_cocites_metrics_that_are_read_exist_and_those_that_exist_are_shown() -> None:
    held = (GatewayMetrics(), BatchMetrics("reranker"), Outcomes(), ReleaseMetrics(), ClickCounter())
    names = {name for metrics in held for name in exported_names(metrics)}
    shown = {name for query in panel_queries().values() for name in metrics_of(query)}
    read = shown | {name for rule in alerts() for name in metrics_of(rule["expr"])}
    assert {name for name in read if name.startswith("ray_cocite")} <= names
    assert names - shown == set()


def provisioned(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def check_provisioning(kind: str, content: Any) -> None:
    jsonschema.validate(content, {"$ref": f"#/$defs/{kind}", "$defs": SCHEMAS["$defs"]})


@pytest.mark.parametrize("path", sorted(PROVISIONING.rglob("*.yml")), ids=lambda path: path.name)
def test_provisioning_files_have_the_fields_that_grafana_reads(path: Path) -> None:
    check_provisioning(path.parent.name, provisioned(path))


@pytest.mark.parametrize(
    ("kind", "entries", "key"),
    [("datasources", "datasources", "isdefault"), ("dashboards", "providers", "allowUIUpdates")],
)
def test_a_field_that_grafana_would_pass_over_is_found(kind: str, entries: str, key: str) -> None:
    [path] = (PROVISIONING / kind).glob("*.yml")
    content = provisioned(path)
    content[entries][0][key] = True
    with pytest.raises(jsonschema.ValidationError, match=key):
        check_provisioning(kind, content)

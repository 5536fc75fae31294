"""What KubeRay's operator has to have on for the upgrade that the RayService asks for."""

from __future__ import annotations

import yaml
from helpers.sources import ROOT

INFRA = ROOT / "infra" / "kubernetes"
GATE = "RayServiceIncrementalUpgrade"
"""Off by default in KubeRay 1.6 (``ray-operator/pkg/features``), which refuses ``clusterUpgradeOptions`` without it."""


def test_the_gate_of_incremental_upgrades_is_on_where_the_service_asks_for_them() -> None:
    service = yaml.safe_load((INFRA / "serving" / "service.yaml").read_text())
    values = yaml.safe_load((INFRA / "operator-values.yaml").read_text())
    assert service["spec"]["upgradeStrategy"]["type"] == "NewClusterWithIncrementalUpgrade"
    gates = {gate["name"]: gate["enabled"] for gate in values["featureGates"]}
    assert gates[GATE] is True
    # A list of values replaces the chart's, so what the chart has on has to be in it.
    assert {"RayClusterStatusConditions", "RayJobDeletionPolicy", "RayMultiHostIndexing"} <= {
        name for name, on in gates.items() if on
    }


def test_the_guide_turns_it_on_before_it_applies_the_service() -> None:
    guide = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert GATE in guide
    assert guide.index("--values infra/kubernetes/operator-values.yaml") < guide.index("kubectl apply -k")

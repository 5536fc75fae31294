from __future__ import annotations

from types import SimpleNamespace

import pytest
from ray import serve

from cocite_serve.http.problems import NotReadyError
from cocite_serve.replicas.names import BESIDE, STAGES, served_stages, stages_number


@pytest.mark.parametrize(
    ("states", "wanted", "expected"),
    [
        ("RUNNING RUNNING", "", "cocite-stages-9"),
        ("RUNNING RUNNING", "cocite-stages-10", "cocite-stages-10"),
        ("RUNNING RUNNING", "cocite-stages-8", "cocite-stages-9"),
        ("RUNNING DEPLOYING", "cocite-stages-10", "cocite-stages-9"),
        ("DELETING RUNNING", "", "cocite-stages-10"),
        ("DEPLOYING DEPLOYING", "", "cocite-stages-9"),
    ],
)
def test_a_gateway_opens_no_stages_that_may_be_on_trial(
    monkeypatch: pytest.MonkeyPatch, states: str, wanted: str, expected: str
) -> None:
    names = ("cocite-stages-9", "cocite-stages-10")
    apps = {name: SimpleNamespace(status=state) for name, state in zip(names, states.split(), strict=True)}
    apps["cocite"] = SimpleNamespace(status="RUNNING")
    monkeypatch.setattr(serve, "status", lambda: SimpleNamespace(applications=apps))
    assert served_stages(wanted) == expected


def test_without_stages_a_gateway_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    apps = {"cocite": SimpleNamespace(status="RUNNING")}
    monkeypatch.setattr(serve, "status", lambda: SimpleNamespace(applications=apps))
    with pytest.raises(NotReadyError, match="no stages are loaded"):
        served_stages()


def test_numbers_count_beyond_nine() -> None:
    assert stages_number(f"{STAGES}10") > stages_number(f"{STAGES}9")


def test_a_release_beside_is_never_taken_for_the_served_one(monkeypatch: pytest.MonkeyPatch) -> None:
    running = SimpleNamespace(status="RUNNING")
    apps = {f"{BESIDE}1": running, f"{STAGES}2": running}
    monkeypatch.setattr(serve, "status", lambda: SimpleNamespace(applications=apps))
    assert served_stages(f"{BESIDE}1") == f"{STAGES}2"
    assert stages_number(f"{BESIDE}12") == 12

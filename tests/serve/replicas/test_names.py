from __future__ import annotations

from types import SimpleNamespace

import pytest
from ray import serve

from cocite_serve.http.problems import NotReadyError
from cocite_serve.replicas.names import STAGES, newest_stages, stages_number


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (
            {"cocite": "RUNNING", "cocite-stages-9": "RUNNING", "cocite-stages-10": "RUNNING"},
            "cocite-stages-10",
        ),
        ({"cocite-stages-9": "RUNNING", "cocite-stages-10": "DEPLOYING"}, "cocite-stages-9"),
        ({"cocite-stages-9": "DEPLOYING", "cocite-stages-10": "DEPLOYING"}, "cocite-stages-9"),
    ],
)
def test_a_gateway_opens_the_newest_stages_that_run(
    monkeypatch: pytest.MonkeyPatch, states: dict[str, str], expected: str
) -> None:
    apps = {name: SimpleNamespace(status=state) for name, state in states.items()}
    monkeypatch.setattr(serve, "status", lambda: SimpleNamespace(applications=apps))
    assert newest_stages() == expected


def test_without_stages_a_gateway_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    apps = {"cocite": SimpleNamespace(status="RUNNING")}
    monkeypatch.setattr(serve, "status", lambda: SimpleNamespace(applications=apps))
    with pytest.raises(NotReadyError, match="no stages are loaded"):
        newest_stages()


def test_numbers_count_beyond_nine() -> None:
    assert stages_number(f"{STAGES}10") > stages_number(f"{STAGES}9")

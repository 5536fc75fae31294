"""The order in which a rollout loads, switches and deletes, on a Ray Serve that only records the calls."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray import serve

from cocite_serve.release import Release
from cocite_serve.replicas.names import GATEWAYS
from cocite_serve.rollout import Rollout, RolloutError, _last_line
from cocite_serve.settings import ServeSettings

RELEASE = Release(None, Path("index"), "000001")


class FakeServe:
    """Ray Serve's applications by name, and every call that changes them."""

    def __init__(self) -> None:
        self.applications: dict[str, Any] = {}
        self.calls: list[tuple[str, str]] = []
        self.next_status, self.next_message = "RUNNING", ""
        self.unreachable: set[str] = set()
        """Stages that the gateways cannot open."""

    def status(self) -> Any:
        return SimpleNamespace(applications=dict(self.applications))

    def _add(self, name: str) -> None:
        failed = SimpleNamespace(status="DEPLOY_FAILED", message=self.next_message)
        deployments = {"Retriever": failed} if self.next_message else {}
        self.applications[name] = SimpleNamespace(status=self.next_status, deployments=deployments)
        self.calls.append(("load", name))

    def run_many(self, targets: list[Any], wait_for_applications_running: bool) -> None:
        assert not wait_for_applications_running
        for target in targets:
            assert target.route_prefix is None, "the stages have no route"
            self._add(target.name)

    def run(self, application: Any, name: str, route_prefix: str) -> None:
        assert (name, route_prefix) == (GATEWAYS, "/")
        self._add(name)
        if self.next_message:
            raise RuntimeError("deploying failed")

    def delete(self, name: str) -> None:
        del self.applications[name]
        self.calls.append(("delete", name))

    def get_app_handle(self, name: str) -> Any:
        assert name == GATEWAYS

        def broadcast(method: str, stages: str) -> Any:
            self.calls.append((method, stages))
            return SimpleNamespace(results=lambda timeout_s: self._opened(stages))

        return SimpleNamespace(broadcast=broadcast)

    def _opened(self, stages: str) -> None:
        if stages in self.unreachable:
            raise TimeoutError("a gateway did not answer")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeServe:
    fake = FakeServe()
    for name in ("status", "run_many", "run", "delete", "get_app_handle"):
        monkeypatch.setattr(serve, name, getattr(fake, name))
    return fake


def rollout(**changes: Any) -> Rollout:
    return Rollout(ServeSettings(index=Path("index"), request_timeout_s=0.01, **changes))


@pytest.fixture
def running(fake: FakeServe) -> Rollout:
    """A rollout that has started one release."""
    started = rollout()
    started.start(RELEASE)
    fake.calls.clear()
    return started


def test_the_stages_load_before_the_gateways_start(fake: FakeServe) -> None:
    rollout().start(RELEASE)
    assert fake.calls == [("load", "cocite-stages-1"), ("load", "cocite")]


def test_what_a_killed_endpoint_left_on_a_cluster_is_replaced(fake: FakeServe) -> None:
    fake.applications = {
        name: SimpleNamespace(status="RUNNING") for name in ("cocite-stages-7", "another-app")
    }
    rollout().start(RELEASE)
    assert fake.calls == [("load", "cocite-stages-8"), ("load", "cocite"), ("delete", "cocite-stages-7")]
    assert "another-app" in fake.applications


def test_the_next_release_loads_beside_the_present_one(fake: FakeServe, running: Rollout) -> None:
    running.switch_to(RELEASE)
    assert fake.calls == [("load", "cocite-stages-2"), ("switch_to", "cocite-stages-2")]
    assert "cocite-stages-1" in fake.applications, "requests may still be with it"
    running.delete_old_stages()
    assert fake.calls[2:] == [("switch_to", "cocite-stages-2"), ("delete", "cocite-stages-1")]


def test_a_release_that_does_not_load_changes_nothing(fake: FakeServe, running: Rollout) -> None:
    fake.next_status = "DEPLOY_FAILED"
    fake.next_message = "Traceback\n  ...\ncocite.errors.InputError: the index holds no vectors of hatten\n"
    with pytest.raises(RolloutError, match="^the index holds no vectors of hatten$"):
        running.switch_to(RELEASE)
    assert fake.calls == [("load", "cocite-stages-2"), ("delete", "cocite-stages-2")]
    assert set(fake.applications) == {"cocite", "cocite-stages-1"}


def test_gateways_that_cannot_switch_go_back(fake: FakeServe, running: Rollout) -> None:
    fake.unreachable.add("cocite-stages-2")
    with pytest.raises(RolloutError, match="could not turn to it: a gateway did not answer"):
        running.switch_to(RELEASE)
    assert fake.calls == [
        ("load", "cocite-stages-2"),
        ("switch_to", "cocite-stages-2"),
        ("switch_to", "cocite-stages-1"),
        ("delete", "cocite-stages-2"),
    ]


def test_gateways_that_do_not_start_say_why(fake: FakeServe, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(application: Any, name: str, route_prefix: str) -> None:
        fake.next_message = "ValueError: no such port"
        fake.run(application, name, route_prefix)

    monkeypatch.setattr(serve, "run", run)
    with pytest.raises(RolloutError, match="^ValueError: no such port$"):
        rollout().start(RELEASE)


def test_stages_that_take_too_long_are_given_up(fake: FakeServe) -> None:
    fake.next_status = "DEPLOYING"
    with pytest.raises(RolloutError, match="not loaded within 0.2 s .Ray must have room"):
        rollout(watch={"start_s": 0.2}).start(RELEASE)
    assert fake.applications == {}


def test_an_interrupt_ends_the_wait_for_stages(fake: FakeServe) -> None:
    fake.next_status = "DEPLOYING"
    interrupted = rollout()
    interrupted.interrupt()
    with pytest.raises(RolloutError, match="the endpoint was ended before the stages were loaded"):
        interrupted.start(RELEASE)
    assert fake.applications == {}


def test_the_gateways_are_deleted_before_the_stages(fake: FakeServe, running: Rollout) -> None:
    running.delete()
    assert fake.calls == [("delete", "cocite"), ("delete", "cocite-stages-1")]
    running.delete()
    assert len(fake.calls) == 2, "nothing is left to delete"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\n\n", "b"),
        ("x\ncocite.errors.IntegrityError: damaged", "damaged"),
        ("ValueError: x", "ValueError: x"),
        ("", ""),
    ],
)
def test_the_last_line_of_a_traceback(text: str, line: str) -> None:
    assert _last_line(text) == line

"""The order in which a rollout loads, tries, turns and deletes, on a Ray Serve that only records the calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray import serve

from cocite.errors import CociteError
from cocite.pipeline.golden_answers import GoldenAnswer
from cocite.pipeline.golden_queries import GoldenQuery
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.release import Release
from cocite_serve.replicas.canary import Counted, Tally
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.names import BESIDE, GATEWAYS
from cocite_serve.rollouts import canary_run
from cocite_serve.rollouts.asked_stages import AskedStages
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.rollouts.rollout import Rollout
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
        self.directions = Directions("")
        self.tallies: list[Counted | Exception] = []
        """What the gateways say of a canary."""

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

    def delete(self, name: str, _blocking: bool) -> None:
        del self.applications[name]
        self.calls.append(("delete", name))

    def get_app_handle(self, name: str) -> Any:
        assert name == GATEWAYS

        def broadcast(method: str, *directions: Directions) -> Any:
            if method == "tallies":
                return SimpleNamespace(results=lambda timeout_s, return_exceptions: self.tallies)
            (self.directions,) = directions
            stages, trial = self.directions.stages, self.directions.trial
            self.calls.append(("follow", f"{stages} and {trial}" if trial else stages))
            return SimpleNamespace(results=lambda timeout_s: self._opened(stages))

        return SimpleNamespace(broadcast=broadcast)

    def _opened(self, stages: str) -> None:
        if stages in self.unreachable:
            raise TimeoutError("a gateway did not answer")


class Stages:
    """Stages that answer every golden query with the same papers."""

    scores = (3.0, 2.0, 1.0)

    def __init__(self) -> None:
        self.asked = 0

    def kept(self) -> None:
        return None

    def choose(self, count: int) -> list[GoldenQuery]:
        return [GoldenQuery("golden-1", "a", "Parsing")]

    def known(self, ids: Any) -> set[str]:
        return set(ids)

    def ask(self, query: GoldenQuery, seconds: float) -> GoldenAnswer:
        self.asked += 1
        return GoldenAnswer(("a", "b", "c"), self.scores, seconds=0.01)


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Stages]:
    """The stages of each application that was opened."""
    opened: dict[str, Stages] = {}
    monkeypatch.setattr(AskedStages, "open", lambda app, seconds: opened.setdefault(app, Stages()))
    return opened


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, stages: dict[str, Stages]) -> FakeServe:
    fake = FakeServe()
    for name in ("status", "run_many", "run", "delete", "get_app_handle"):
        monkeypatch.setattr(serve, name, getattr(fake, name))
    return fake


def rollout(canary_s: float = 0, **changes: Any) -> Rollout:
    canary = {"canary_s": canary_s}
    return Rollout(ServeSettings(index=Path("index"), request_timeout_s=0.01, rollout=canary, **changes))


def away(name: str, _blocking: bool) -> None:
    """In place of ``serve.delete``."""
    raise RuntimeError("the controller does not answer")


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
    assert fake.calls == [("load", "cocite-stages-2"), ("follow", "cocite-stages-2")]
    assert "cocite-stages-1" in fake.applications, "requests may still be with it"
    running.delete_old_stages()
    assert fake.calls[2:] == [("follow", "cocite-stages-2"), ("delete", "cocite-stages-1")]


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
        ("follow", "cocite-stages-2"),
        ("follow", "cocite-stages-1"),
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


NAN = (3.0, float("nan"), 1.0)


def test_a_release_whose_golden_answers_are_unsound_is_not_turned_to(
    fake: FakeServe, running: Rollout, stages: dict[str, Stages]
) -> None:
    stages["cocite-stages-2"] = broken = Stages()
    broken.scores = NAN
    with pytest.raises(RolloutError, match=r"not those of a sound model: golden-1: .* not finite") as refused:
        running.switch_to(RELEASE)
    assert not isinstance(refused.value, RolledBackError)
    assert fake.calls == [
        ("load", "cocite-stages-2"),
        ("follow", "cocite-stages-1"),
        ("delete", "cocite-stages-2"),
    ]


def test_an_endpoint_does_not_start_with_an_unsound_release(
    fake: FakeServe, stages: dict[str, Stages]
) -> None:
    stages["cocite-stages-1"] = broken = Stages()
    broken.scores = NAN
    with pytest.raises(RolloutError, match="its answers are not those of a sound model"):
        rollout().start(RELEASE)
    assert fake.applications == {}


def test_stages_that_do_not_say_what_they_are_do_not_answer(
    fake: FakeServe, running: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(app: str, seconds: float) -> Stages:
        raise TimeoutError

    monkeypatch.setattr(AskedStages, "open", opened)
    with pytest.raises(RolloutError, match="^the stages do not answer$"):
        running.switch_to(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-1"}


def test_without_requests_golden_queries_are_the_canary(
    fake: FakeServe, stages: dict[str, Stages], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = rollout(canary_s=600)
    watched.start(RELEASE)
    fake.calls.clear()

    looks = iter(range(600))

    def now() -> float:
        """The canary is over when its stages were asked in it, however long that takes."""
        return 600.0 if stages["cocite-stages-2"].asked > 1 else next(looks, 600)

    monkeypatch.setattr(canary_run, "time", SimpleNamespace(monotonic=now))
    watched.switch_to(RELEASE)
    assert fake.calls == [
        ("load", "cocite-stages-2"),
        ("follow", "cocite-stages-1 and cocite-stages-2"),
        ("follow", "cocite-stages-2"),
    ]
    assert stages["cocite-stages-2"].asked > 1, "once in the trial, then in the canary"
    assert fake.directions == Directions("cocite-stages-2")


def test_a_canary_that_fails_is_ended_at_once(fake: FakeServe, stages: dict[str, Stages]) -> None:
    watched = rollout(canary_s=600)
    watched.start(RELEASE)
    counted = (Tally(5, 2), Tally(50)), (Tally(5, 1), Tally(50))
    fake.tallies = [Counted("new", None), Counted("a", counted[0]), TimeoutError(), Counted("b", counted[1])]
    with pytest.raises(RolledBackError, match="in the canary 3 of 10 requests failed, and 0 of 100 by"):
        watched.switch_to(RELEASE)
    assert fake.calls[-3:] == [
        ("follow", "cocite-stages-1 and cocite-stages-2"),
        ("follow", "cocite-stages-1"),
        ("delete", "cocite-stages-2"),
    ]


def test_an_interrupt_ends_the_canary(fake: FakeServe, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = rollout(canary_s=600)
    watched.start(RELEASE)
    direct = watched._direct

    def interrupted(directions: Directions) -> None:
        direct(directions)
        watched.interrupt()

    monkeypatch.setattr(watched, "_direct", interrupted)
    with pytest.raises(RolloutError, match="the endpoint was ended before the canary was"):
        watched.switch_to(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-1"}


@pytest.mark.parametrize("turn", [Rollout.switch_to, Rollout.put_beside])
def test_why_a_release_is_refused_is_told_though_its_stages_are_not_deleted(
    fake: FakeServe,
    running: Rollout,
    stages: dict[str, Stages],
    monkeypatch: pytest.MonkeyPatch,
    turn: Callable[[Rollout, Release], None],
) -> None:
    unsound = Stages()
    unsound.scores = NAN
    stages |= {"cocite-stages-2": unsound, "cocite-beside-2": unsound}
    with monkeypatch.context() as context:
        context.setattr(serve, "delete", away)
        with pytest.raises(RolloutError, match="its answers are not those of a sound model"):
            turn(running, RELEASE)
        fake.next_status = "DEPLOY_FAILED"
        with pytest.raises(RolloutError, match="a stage cannot be loaded"):
            running._load(RELEASE)
    assert {name for call, name in fake.calls if call == "follow"} <= {"cocite-stages-1"}
    assert len(fake.applications) == 4
    fake.next_status = "RUNNING"
    running._delete_all(BESIDE)
    running.switch_to(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-1", "cocite-stages-4"}


def test_stages_that_hang_are_a_sentence_and_not_a_defect(
    fake: FakeServe, running: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(name: str, _blocking: bool) -> None:
        raise TimeoutError(f"Some of these applications weren't deleted after 60s: {[name]}")

    running.switch_to(RELEASE)
    monkeypatch.setattr(serve, "delete", late)
    with pytest.raises(CociteError, match="the application cocite-stages-1 is still being deleted"):
        running.delete_old_stages()


def test_the_gateways_are_told_what_is_refused_from_then_on(fake: FakeServe, running: Rollout) -> None:
    refused = (RefusedRelease(what="Index 000002", why="damaged", when="2026-11-23T09:00:00+00:00"),)
    running.tell(refused)
    assert fake.directions == Directions("cocite-stages-1", refused=refused)
    fake.unreachable.add("cocite-stages-1")
    running.tell(())  # raises nothing: the next look tells it again
    fake.unreachable.clear()
    running.tell(refused)
    running.switch_to(RELEASE)
    assert fake.directions == Directions("cocite-stages-2", refused=refused)


def test_a_release_beside_is_no_release_that_is_served(fake: FakeServe, running: Rollout) -> None:
    running.put_beside(RELEASE)
    assert fake.calls == [("load", "cocite-beside-2"), ("follow", "cocite-stages-1")]
    assert fake.directions == Directions("cocite-stages-1", beside="cocite-beside-2")
    running.switch_to(RELEASE)
    running.delete_old_stages()
    assert fake.directions == Directions("cocite-stages-3", beside="cocite-beside-2")
    assert set(fake.applications) == {"cocite", "cocite-stages-3", "cocite-beside-2"}
    running.put_beside(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-3", "cocite-beside-4"}
    running.delete()
    assert fake.applications == {}


def test_a_release_beside_answers_though_the_one_before_could_not_be_deleted(
    fake: FakeServe, running: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.put_beside(RELEASE)
    with monkeypatch.context() as context:
        context.setattr(serve, "delete", away)
        running.put_beside(RELEASE)
    assert fake.directions.beside == "cocite-beside-3"
    assert set(fake.applications) == {"cocite", "cocite-stages-1", "cocite-beside-2", "cocite-beside-3"}
    running.put_beside(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-1", "cocite-beside-4"}


def test_an_unsound_release_beside_changes_nothing(
    fake: FakeServe, running: Rollout, stages: dict[str, Stages]
) -> None:
    running.put_beside(RELEASE)
    before = fake.directions
    stages["cocite-beside-3"] = broken = Stages()
    broken.scores = NAN
    with pytest.raises(RolloutError, match="its answers are not those of a sound model"):
        running.put_beside(RELEASE)
    assert fake.directions == before
    assert set(fake.applications) == {"cocite", "cocite-stages-1", "cocite-beside-2"}


def test_a_release_beside_that_a_killed_endpoint_left_is_deleted(fake: FakeServe) -> None:
    fake.applications = {"cocite-beside-9": SimpleNamespace(status="RUNNING")}
    rollout().start(RELEASE)
    assert set(fake.applications) == {"cocite", "cocite-stages-10"}

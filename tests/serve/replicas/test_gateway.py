"""What a gateway does as it is directed, without Ray: the calls of its stages run in the test's process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers.stage_handles import QUERY, Handle, soon

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.replicas.canary import Counted
from cocite_serve.replicas.directions import Directions
from cocite_serve.replicas.gateway import Gateway
from cocite_serve.settings import ServeSettings

REFUSED = RefusedRelease(what="index 000003", why="a file is damaged", when="2026-11-23T09:00:00+00:00")


@pytest.fixture
def gateway(two_snapshots: Path) -> Any:
    """A gateway of no application: Serve's decorator stands around its class."""
    return Gateway.__mro__[1](ServeSettings(index=two_snapshots))  # type: ignore[attr-defined]


def test_a_gateway_opens_other_stages_once_when_it_is_told(gateway: Any, apps: dict[str, Handle]) -> None:
    asyncio.run(gateway.follow(Directions("cocite-stages-1")))
    first = gateway._backend
    asyncio.run(gateway.follow(Directions("cocite-stages-1", refused=(REFUSED,))))
    assert gateway._backend is first
    assert first.refused == (REFUSED,)
    asyncio.run(gateway.follow(Directions("cocite-stages-2")))
    assert (gateway._backend.index_version, first.index_version) == ("000002", "000001")
    assert gateway._backend.refused == ()
    assert list(gateway._pairs) == ["cocite-stages-2"], "the old one's papers are closed"


def test_a_gateway_sends_a_share_to_stages_on_trial_until_it_is_told_otherwise(
    gateway: Any, apps: dict[str, Handle]
) -> None:
    trial = Directions("cocite-stages-1", "cocite-stages-2", share=0.25, timeout_s=30)

    async def ask() -> list[str]:
        await gateway.follow(Directions("cocite-stages-1"))
        assert (await gateway.tallies()).tallies is None
        await gateway.follow(trial)
        answers = []
        for number in range(8):
            answers.append(await gateway._backend.recommend(QUERY, Options(top_k=1, depth=5), soon()))
            if number == 5:
                await gateway.follow(trial)  # told again
        return [(answer.answered_by or gateway._backend).index_version for answer in answers]

    versions = asyncio.run(ask())
    assert [version == "000002" for version in versions] == [False, False, False, True] * 2
    assert gateway._backend.index_version == "000001", "health and version tell of what most are answered by"
    assert [tally.requests for tally in asyncio.run(gateway.tallies()).tallies] == [2, 6]
    asyncio.run(gateway.follow(Directions("cocite-stages-1")))
    assert asyncio.run(gateway.tallies()) == Counted("gateway", None)


def test_what_a_gateway_was_told_last_holds_though_it_opens_other_stages_still(
    gateway: Any, apps: dict[str, Handle]
) -> None:
    slow = apps["cocite-stages-2"].stage
    release = slow.release

    async def tell() -> Counted:
        opened = asyncio.Event()

        async def wait() -> Any:
            await opened.wait()
            return await release()

        slow.release = wait
        await gateway.follow(Directions("cocite-stages-1"))
        trial = Directions("cocite-stages-1", "cocite-stages-2", share=1.0)
        before = asyncio.create_task(gateway.follow(trial))
        await asyncio.sleep(0.05)
        await gateway.follow(Directions("cocite-stages-1"))  # it is taken back
        opened.set()
        await before
        counted: Counted = await gateway.tallies()
        return counted

    assert asyncio.run(tell()).tallies is None
    assert list(gateway._pairs) == ["cocite-stages-1"]


@pytest.fixture
def two(two_snapshots: Path, apps: dict[str, Handle]) -> Any:
    """A gateway whose settings name a second release, of the first snapshot."""
    apps["cocite-beside-3"] = apps["cocite-stages-1"]
    beside = {"index_version": "000001", "traffic": "split", "share": 1.0}
    return Gateway.__mro__[1](ServeSettings(index=two_snapshots, beside=beside))  # type: ignore[attr-defined]


def answered_by(gateway: Any, release: str | None = None) -> str:
    """The index of the release that answers a request."""

    async def ask() -> str:
        backend = gateway._backend.chosen(release, "client")
        answer = await backend.recommend(QUERY, Options(top_k=1, depth=5), soon())
        return str((answer.answered_by or backend).index_version)

    return asyncio.run(ask())


def test_a_second_release_answers_beside_the_served_one_until_it_is_gone(two: Any) -> None:
    asyncio.run(two.follow(Directions("cocite-stages-2", beside="cocite-beside-3")))
    assert (two._backend.index_version, two._backend.beside.index_version) == ("000002", "000001")
    assert not two._pairs["cocite-stages-2"].full.tell, "the release beside it may have room"
    assert [answered_by(two, name) for name in (None, "served", "beside")] == ["000001", "000002", "000001"]
    first = two._backend
    asyncio.run(two.follow(Directions("cocite-stages-2", beside="cocite-beside-3", refused=(REFUSED,))))
    assert two._backend is first, "it knows how requests went"
    assert first.refused == (REFUSED,)
    asyncio.run(two.follow(Directions("cocite-stages-2")))
    assert (answered_by(two), two._backend.beside, list(two._pairs)) == ("000002", None, ["cocite-stages-2"])


def test_a_second_release_that_does_not_answer_disturbs_nothing(two: Any, apps: dict[str, Handle]) -> None:
    asyncio.run(two.follow(Directions("cocite-stages-2", beside="cocite-beside-4")))  # there is none
    assert answered_by(two) == "000002"
    with pytest.raises(InputError, match="no release 'beside' is loaded; the only name is 'served'"):
        two._backend.chosen("beside", "")


def test_while_a_release_is_on_trial_the_second_one_gets_requests_that_name_it(two: Any) -> None:
    trial = Directions(
        "cocite-stages-2", "cocite-stages-1", share=0.5, timeout_s=30, beside="cocite-beside-3"
    )
    asyncio.run(two.follow(trial))
    assert answered_by(two, "beside") == "000001"
    assert [answered_by(two) for _ in range(4)] == ["000002", "000001"] * 2, "the canary's share"
    assert [tally.requests for tally in asyncio.run(two.tallies()).tallies] == [2, 2]

"""The two stages of a release as a gateway calls them, without Ray: their calls run in the test's process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.span_receiver import receiving, traced
from helpers.stage_handles import QUERY, Handle, soon
from ray import serve
from ray.exceptions import RayActorError
from ray.serve.exceptions import BackPressureError

from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas.full_replicas import FullReplicas
from cocite_serve.replicas.gateway import StagePair
from cocite_serve.replicas.loaded_versions import LoadedVersions
from cocite_serve.replicas.pair_chunks import Reranked
from cocite_serve.replicas.query_blocks import Found
from cocite_serve.replicas.refusals import FullError
from cocite_serve.replicas.stages import RetrievedCandidates, Retriever
from cocite_serve.tracing import exporting
from cocite_serve.tracing.origins import working_for
from cocite_serve.tracing.spans import begin_trace

GAP = Query("q", context="as in [CIT]")


class Failing:
    """A stage whose every call raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def versions(self) -> LoadedVersions:
        raise self.error

    async def recommend(self, *_: object) -> None:
        raise self.error


def test_a_pair_ranks_as_the_recommender_does(two_snapshots: Path, apps: dict[str, Handle]) -> None:
    recommender = Recommender.load(None, two_snapshots)
    query, options = recommender.query(title="Neural machine translation"), Options(top_k=5, depth=50)

    async def ask() -> Any:
        pair = await StagePair.open("cocite-stages-2")
        await pair.ready()
        assert (pair.model_version, pair.index_version, pair.registered) == ("", "000002", None)
        assert len(pair.papers) == 422
        return await pair.recommend(query, options, soon())

    answer = asyncio.run(ask())
    assert [paper.id for paper in answer.recommendations] == [
        paper.id for paper in recommender.recommend(query, options)
    ]
    assert answer.retrieve_ms > 0
    assert answer.rerank_ms > 0


def test_a_retriever_without_a_reranker_answers_alone(
    two_snapshots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever: Any = Handle(Retriever(Release(None, two_snapshots, "000001")))
    monkeypatch.setattr(serve, "get_app_handle", {"cocite-stages-1": retriever}.__getitem__)

    async def ask() -> Any:
        pair = await StagePair.open("cocite-stages-1")
        await pair.ready()
        assert (await pair.facts()).cross_encoder is None
        return await pair.recommend(QUERY, Options(top_k=5, depth=50), soon())

    assert len(asyncio.run(ask()).recommendations) == 5


def test_stages_of_two_snapshots_are_no_pair(apps: dict[str, Handle]) -> None:
    mixed = apps["cocite-stages-2"].stage
    mixed._retriever = apps["cocite-stages-1"].stage._retriever
    with pytest.raises(NotReadyError, match="the retriever serves model  and index 000001"):
        asyncio.run(StagePair.open("cocite-stages-2"))


def test_a_busy_stage_is_ready_and_a_dead_one_is_not(apps: dict[str, Handle]) -> None:
    pair = asyncio.run(StagePair.open("cocite-stages-1"))
    pair._retriever = Handle(Failing(BackPressureError(3, 2)))  # type: ignore[assignment]
    asyncio.run(pair.ready())
    with pytest.raises(OverloadedError, match="backpressure"):
        asyncio.run(pair.recommend(QUERY, Options(), soon()))
    pair._retriever = Handle(Failing(RayActorError()))  # type: ignore[assignment]
    with pytest.raises(NotReadyError, match="a stage's process ended"):
        asyncio.run(pair.ready())


class Dying:
    """A stage whose replica dies at some of the first calls."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.calls = deaths, 0

    async def retrieve(self, *_: object) -> RetrievedCandidates:
        self._call()
        candidates: Any = SimpleNamespace(missing_shards=(), unlike=(False,))
        return RetrievedCandidates(candidates, LoadedVersions("", "000001"))

    async def recommend(self, *_: object) -> tuple[Found, LoadedVersions]:
        self._call()
        return Found([], (), order_s=0.0), LoadedVersions("", "000001")

    async def versions(self) -> LoadedVersions:
        self._call()
        return LoadedVersions("", "000001")

    async def encoders(self) -> tuple[()]:
        self._call()
        return ()

    async def cross_encoder(self) -> None:
        self._call()

    def _call(self) -> None:
        self.calls += 1
        if self.calls <= self.deaths:
            raise RayActorError

    async def rerank(self, *_: object) -> Reranked:
        return Reranked([], read=0, of=0)


@pytest.mark.parametrize("query", [QUERY, GAP])
def test_a_request_is_asked_again_when_its_replica_died(query: Query) -> None:
    one, two = Dying(1), Dying(4)
    asyncio.run(slow_pair(one, replicas=1).recommend(query, Options(), soon()))
    assert one.calls == 2
    with pytest.raises(NotReadyError, match="a stage's process ended while it worked on this request"):
        asyncio.run(slow_pair(two, replicas=1).recommend(query, Options(), soon()))
    assert two.calls == 4


@pytest.mark.parametrize("asked", ["ready", "facts"])
def test_what_a_stage_is_asked_of_itself_is_asked_again_when_its_replica_died(asked: str) -> None:
    stage = Dying(1)
    asyncio.run(getattr(slow_pair(stage, replicas=1), asked)())
    assert stage.calls == 3, "of both stages, the first one twice"


def test_stages_are_opened_though_a_replica_died(
    apps: dict[str, Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = apps["cocite-stages-1"].stage
    calls = {"release": stage.release, "versions": stage.versions, "kinds": stage.kinds}
    for name, call in calls.items():
        monkeypatch.setattr(stage, name, dying_once(call))
    assert asyncio.run(StagePair.open("cocite-stages-1")).index_version == "000001"


def dying_once(call: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    died = False

    async def called() -> Any:
        nonlocal died
        if not died:
            died = True
            raise RayActorError
        return await call()

    return called


class Slow:
    """The two stages of a pair, whose calls wait until the test lets them go on."""

    def __init__(self, room: int) -> None:
        self.room, self.asked, self.left = room, [], 0  # type: ignore[var-annotated]
        self.go, self.begun = asyncio.Event(), asyncio.Event()

    async def admit(self, query: Query, options: Options, seconds: float, partial: bool, before: int) -> None:
        self.asked.append(before)
        if len(self.asked) > self.room:
            raise OverloadedError("the reranker refused a request", 2.0)

    async def retrieve(self, *_: object) -> RetrievedCandidates:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.left += 1
            raise
        candidates: Any = SimpleNamespace(missing_shards=(), unlike=(False,))
        return RetrievedCandidates(candidates, LoadedVersions("", "000001"))

    async def recommend(self, *_: object) -> tuple[Found, LoadedVersions]:
        retrieved = await self.retrieve()
        return Found([], (), order_s=0.0), retrieved.versions

    async def rerank(self, *_: object) -> Reranked:
        return Reranked([], read=30, of=30)


def slow_pair(stage: Any, replicas: int) -> StagePair:
    handle: Any = Handle(stage)
    papers: Any = None
    versions = LoadedVersions("", "000001")
    return StagePair(
        Release(None, Path("index"), "000001"), versions, papers, handle, handle, ("local",), replicas
    )


def test_a_busy_reranker_is_asked_before_candidates_are_retrieved() -> None:
    options = Options(rerank=30)

    async def ask() -> tuple[Slow, list[Any]]:
        stage = Slow(room=2)
        pair = slow_pair(stage, replicas=2)
        calls = [asyncio.ensure_future(pair.recommend(GAP, options, soon())) for _ in range(4)]
        done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert done == {calls[3]}, "it is refused, and the others are not there yet"
        stage.go.set()
        return stage, await asyncio.gather(*calls, return_exceptions=True)

    stage, answers = asyncio.run(ask())
    assert len(stage.asked) == 3, "the first was alone, so nobody was asked"
    assert all(before <= 45 for before in stage.asked), "of three requests' pairs, each replica has half"
    assert [isinstance(answer, OverloadedError) for answer in answers] == [False, False, False, True]
    assert {(answer.read, answer.to_read) for answer in answers[:3]} == {(30, 30)}


def test_once_all_replicas_are_full_a_refusal_says_for_how_long() -> None:
    class Full(Slow):
        async def admit(self, *_: object) -> None:
            self.asked.append(0)
            raise FullError("the reranker refused a request", 0.8, str(len(self.asked)))

    async def ask(tell: bool) -> list[float]:
        stage = Full(room=0)
        pair = slow_pair(stage, replicas=2)
        pair.full = FullReplicas(2, clock=lambda: 0.0)  # what is full is full however long the test takes
        pair.full.tell = tell
        first = asyncio.ensure_future(pair.recommend(GAP, Options(rerank=30), soon()))
        await asyncio.sleep(0)
        refused = await asyncio.gather(
            *(pair.recommend(GAP, Options(rerank=30), soon()) for _ in range(2)), return_exceptions=True
        )
        with pytest.raises(OverloadedError, match="every replica is full"):
            await pair.recommend(GAP, Options(rerank=30), soon())
        assert len(stage.asked) == 2, "nobody was asked by the third"
        stage.go.set()
        await first
        assert all(type(error) is OverloadedError for error in refused)
        return [error.full_s for error in refused]  # type: ignore[union-attr]

    one, two = asyncio.run(ask(tell=True))
    assert one == 0.0, "the other replica may have room"
    assert 0.0 < two <= 0.8
    assert asyncio.run(ask(tell=False)) == [0.0, 0.0]


def test_a_request_that_reads_no_pairs_asks_nobody() -> None:
    async def ask() -> Slow:
        stage = Slow(room=0)
        pair = slow_pair(stage, replicas=1)
        stage.go.set()
        await asyncio.gather(*(pair.recommend(QUERY, Options(), soon()) for _ in range(3)))
        return stage

    assert asyncio.run(ask()).asked == []


@pytest.mark.parametrize("query", [QUERY, GAP])
def test_a_stage_is_told_when_a_request_is_given_up(query: Query) -> None:
    async def ask() -> Slow:
        stage = Slow(room=9)
        pair = slow_pair(stage, replicas=1)
        request = asyncio.ensure_future(pair.recommend(query, Options(), soon()))
        await stage.begun.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError, match="^$"):
            await request
        await asyncio.sleep(0)
        assert (pair._under_way, pair._coming) == (0, 0)
        return stage

    assert asyncio.run(ask()).left == 1


def test_a_request_is_one_trace_through_both_stages(
    apps: dict[str, Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> Any:
        pair = await StagePair.open("cocite-stages-1")
        pair._kinds = ("global",)  # as if a cross-encoder read them
        with working_for(begin_trace("POST", "5f0c").origins):
            await pair.recommend(QUERY, Options(top_k=5, depth=50), soon())
        pair._kinds = ()
        pair._retriever = Handle(Failing(InputError("the words of a draft")))  # type: ignore[assignment]
        with (
            working_for(begin_trace("POST", "failing").origins),
            pytest.raises(InputError, match="the words of a draft"),
        ):
            await pair.recommend(QUERY, Options(), soon())

    with receiving() as receiver, traced(monkeypatch, receiver.url):
        asyncio.run(ask())
        exporting.flush()
        spans, failing = receiver.of("5f0c"), receiver.of("failing")
        assert not any(b"words of a draft" in body for body in receiver.bodies)
    recommended, ids = spans[0], {span.id: span for span in spans}
    assert recommended.name == "recommend"
    expected = {"cocite.query": "global", "cocite.top_k": 5, "cocite.depth": 50, "cocite.papers": 5}
    assert recommended.attributes.items() >= expected.items()
    for name in ("retriever.retrieve", "reranker.rerank"):
        asked, served = (span for span in spans if span.name == name)
        assert (asked.kind, served.kind) == ("client", "server")
        assert (asked.parent, served.parent) == (recommended.id, asked.id)
    phases = [
        (span.name, ids[span.parent].name) for span in spans if span.name in ("generate", "encode", "score")
    ]
    assert phases == [("generate", "chunk"), ("encode", "generate"), ("score", "chunk")]
    assert [(span.name, span.attributes["error.type"]) for span in failing if span.failed] == [
        ("recommend", "InputError"),
        ("retriever.recommend", "InputError"),
    ]

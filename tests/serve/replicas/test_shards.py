"""The shards of a release without Ray Serve: handles whose calls run in threads of the test's process."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.span_receiver import receiving, traced
from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

from cocite.corpus.starter import build_starter
from cocite.errors import InputError, IntegrityError
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.remote_shards import NoReplyError, ShardFailedError, ShardsUnavailableError
from cocite_serve.failures import StageFailedError
from cocite_serve.http.problems import OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas import health
from cocite_serve.replicas.health import UnhealthyError
from cocite_serve.replicas.shards import ServeShards, Shard, ShardHandles
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.tracing import exporting
from cocite_serve.tracing.spans import begin_trace

COUNT = 3


class Handle:
    """Ray Serve's handle of a shard's deployment, as far as a stage uses it."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.error: Exception | None = None
        self._thread = ThreadPoolExecutor(1)
        self.ask = SimpleNamespace(remote=self._remote)

    def _remote(self, method: str, *arguments: Any, **more: Any) -> Any:
        call: Future[Any] = self._thread.submit(self._run, method, *arguments, **more)
        return SimpleNamespace(result=lambda timeout_s: call.result(timeout_s), cancel=call.cancel)

    def _run(self, method: str, *arguments: Any, **more: Any) -> Any:
        if self.error is not None:
            raise self.error
        return asyncio.run(self.shard.ask(method, *arguments, **more))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("shards")
    ShardedIndex.create(build_starter(folder / "corpus"), folder / "index", shards=COUNT)
    return Release(None, folder / "index", "000001", shards=COUNT)


@pytest.fixture
def handles(release: Release) -> list[Handle]:
    return [Handle(Shard(release, number)) for number in range(COUNT)]


def shard_handles(handles: list[Handle], **changes: Any) -> ShardHandles:
    settings: Any = {"round_s": 30.0, "policy": "fail", "start_s": 30.0} | changes
    return ShardHandles(tuple(handles), **settings)  # type: ignore[arg-type]


def test_the_stages_over_shards_rank_as_the_recommender_does(release: Release, handles: list[Handle]) -> None:
    recommender = Recommender.load(None, release.index)
    query, options = recommender.query(title="Neural machine translation"), Options(top_k=10, depth=50)

    async def served() -> Any:
        shards = shard_handles(handles)
        retriever = Retriever(release, shards)
        reranker = Reranker(release, retriever, shards)  # type: ignore[arg-type]
        retrieved = await retriever.retrieve(query, options)
        assert retrieved.candidates.missing_shards == ()
        return await reranker.rerank(query, retrieved, options)

    found, expected = asyncio.run(served()).papers, recommender.recommend(query, options)
    assert [(paper.id, paper.score) for paper in found] == [(paper.id, paper.score) for paper in expected]
    assert found[0].evidence == expected[0].evidence


def test_a_shard_without_a_replica_is_missing_or_the_request_is_refused(
    release: Release, handles: list[Handle]
) -> None:
    query, options = Recommender.load(None, release.index).query(title="Translation"), Options(depth=50)
    retrievers = {
        policy: Retriever(release, shard_handles(handles, policy=policy)) for policy in ("fail", "partial")
    }
    handles[1].error = RayActorError()
    retrieved = asyncio.run(retrievers["partial"].retrieve(query, options))
    assert retrieved.candidates.missing_shards == (1,)
    with pytest.raises(ShardsUnavailableError, match="^shard 2 of 3 did not answer: its process ended$"):
        asyncio.run(retrievers["fail"].retrieve(query, options))


def test_a_shard_that_fails_is_missing_or_its_error_is_the_requests(
    release: Release, handles: list[Handle]
) -> None:
    query, options = Recommender.load(None, release.index).query(title="Translation"), Options(depth=50)
    retrievers = {
        policy: Retriever(release, shard_handles(handles, policy=policy)) for policy in ("fail", "partial")
    }
    handles[1].error = RayTaskError("ask", "", StageFailedError("shard", ["OSError"]))
    retrieved = asyncio.run(retrievers["partial"].retrieve(query, options))
    assert retrieved.candidates.missing_shards == (1,)
    with pytest.raises(StageFailedError, match="the shard failed: OSError"):
        asyncio.run(retrievers["fail"].retrieve(query, options))


@pytest.mark.parametrize(
    ("error", "expected", "sentence"),
    [
        (GetTimeoutError("late"), TimeoutError, "late"),
        (RayActorError(), NoReplyError, "its process ended"),
        (DeploymentUnavailableError(None), NoReplyError, "it failed to start"),
        (BackPressureError(3, 2), OverloadedError, "backpressure"),
        (RayTaskError("ask", "", InputError("no such encoder")), InputError, "no such encoder"),
        (
            RayTaskError("ask", "", StageFailedError("shard", ["OSError"])),
            ShardFailedError,
            "failed: OSError",
        ),
        (RayTaskError("ask", "", IntegrityError("it is damaged")), ShardFailedError, "failed: it is damaged"),
        (KeyError("a defect"), KeyError, "a defect"),
    ],
)
def test_serves_errors_are_a_lost_reply_or_the_shards_own(
    handles: list[Handle], error: Exception, expected: type[Exception], sentence: str
) -> None:
    group = ServeShards([0, 141, 282], shard_handles(handles))
    handles[2].error = error
    with pytest.raises(expected, match=sentence):
        group._receive(group._send(2, "ping"), 30)


def test_a_quiet_replica_searches_its_shard_and_fails_where_it_cannot(
    handles: list[Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "QUIET_S", -1.0)
    shard = handles[0].shard

    async def checked() -> None:
        for _ in range(2):  # the first asks for a search, the second sees what came of it
            try:
                await shard.check_health()
            finally:
                search = shard._health._asked
                assert search is not None
                await asyncio.wait([search])
                search.exception()  # else it is logged whenever the collector finds it, in the midst of what computes

    asyncio.run(checked())

    def unreadable(*_: object) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(type(shard._shard.shard), "search", unreadable)
    with pytest.raises(UnhealthyError, match="a golden query failed: OSError"):
        asyncio.run(checked())


def test_a_call_that_is_stuck_makes_a_replica_unhealthy_at_once(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, begun, end = Shard(release, 0, stuck_s=0.05), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        end.wait(60)

    monkeypatch.setattr(shard._shard, "ping", hang)

    async def check() -> None:
        call = asyncio.create_task(shard.ask("ping"))
        await asyncio.to_thread(begun.wait, 60)
        await asyncio.sleep(0.1)  # longer than `stuck_s`
        try:
            with pytest.raises(UnhealthyError, match="a step has taken .* and stuck_s is 0.05"):
                await shard.check_health()
        finally:
            end.set()
        await call
        await shard.check_health()

    asyncio.run(check())


def test_each_call_of_a_shard_is_in_the_trace(
    release: Release, handles: list[Handle], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Recommender.load(None, release.index).query(title="Neural machine translation")
    retriever = Retriever(release, shard_handles(handles, policy="partial"))
    with receiving() as receiver, traced(monkeypatch, receiver.url):
        asyncio.run(retriever.retrieve(query, Options(depth=50), 60.0, begin_trace("POST", "5f0c").origins))
        handles[1].error = RayActorError()
        asyncio.run(retriever.retrieve(query, Options(depth=50), 60.0, begin_trace("POST", "lost").origins))
        exporting.flush()
        spans = receiver.of("5f0c")
        lost = [(span.name, span.attributes["error.type"]) for span in receiver.of("lost") if span.failed]
    ids = {span.id: span for span in spans}
    asked = [span for span in spans if span.kind == "client"]
    assert [(span.name, span.attributes["cocite.shard"]) for span in asked] == [
        (f"shard.{method}", number) for method in ("nearest", "score") for number in (1, 2, 3)
    ]
    assert [ids[span.parent].name for span in asked] == 3 * ["generate"] + 3 * ["score"]
    served = [span for span in spans if span.kind == "server" and span.name.startswith("shard.")]
    assert {span.parent for span in served} == {span.id for span in asked}
    for span in served:
        assert sorted(each.name for each in spans if each.parent == span.id) == ["compute", "queue"]
    assert lost == [("shard.nearest", "NoReplyError")], "then it is not asked"

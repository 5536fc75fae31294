"""Stages of this process: a release is served when its answers are sound, and another one takes its place."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.event_loops import running_loop
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.failures import StageFailedError
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import NotReadyError
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.one_process.stages import LocalStages
from cocite_serve.release import Release
from cocite_serve.replicas.canary import Canary
from cocite_serve.replicas.health import UnhealthyError
from cocite_serve.replicas.query_blocks import QueryBlocks
from cocite_serve.rollouts.errors import RolledBackError, RolloutError
from cocite_serve.settings import ServeSettings

WAIT_S = 300
"""Seconds on a machine that does other things too; usually one."""
REFUSED = RefusedRelease(what="index 000003", why="a file is damaged", when="2026-11-23T09:00:00+00:00")


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with running_loop() as loop:
        yield loop


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model with a cross-encoder for gaps, and an index of two snapshots."""
    folder = tmp_path_factory.mktemp("stages")
    corpus = build_starter(folder / "corpus")
    IndexSnapshot.create(corpus, folder / "index")
    IndexSnapshot.remove(folder / "index", corpus.ids([0]))
    return cross_encoder_folder(folder), folder / "index"


def settings_of(index: Path, canary_s: float = 0) -> ServeSettings:
    rollout = {"timeout_s": 120, "canary_s": canary_s, "canary_share": 0.5, "latency_floor_s": 60}
    return ServeSettings(index=index, request_timeout_s=0.1, rollout=rollout | {"canary_slower_s": 60})


@pytest.fixture(scope="module")
def stages(folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop) -> LocalStages:
    model, index = folders
    stages = LocalStages(settings_of(index), loop)
    with pytest.raises(NotReadyError, match="the stages are not loaded yet"):
        _ = stages.backend
    stages.start(Release(model, index, "000001"))
    return stages


@pytest.mark.parametrize(
    "text", [{"title": "Neural machine translation"}, {"context": "attention was shown by [CIT] to help"}]
)
def test_the_list_is_that_of_the_library(
    stages: LocalStages, folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop, text: dict[str, str]
) -> None:
    model, index = folders
    recommender = Recommender.over(model, open_index(index, "000001"))
    query, options = recommender.query(**text), Options(top_k=5, depth=30, rerank=10)

    async def ask() -> list[tuple[str, float]]:
        answer = await stages.backend.recommend(query, options, Deadline.after(60, partial=False))
        assert answer.retrieve_ms > 0
        assert answer.rerank_ms > 0
        return [(paper.id, paper.score) for paper in answer.recommendations]

    found = asyncio.run_coroutine_threadsafe(ask(), loop).result(60)
    alone = recommender.recommend(query, options)
    assert [id_ for id_, _ in found] == [paper.id for paper in alone]
    assert [score for _, score in found] == pytest.approx([paper.score for paper in alone], abs=1e-4)


def is_looked_at(thing: object) -> bool:
    """Whether Python's own collections of garbage look at a thing."""
    return any(each is thing for each in gc.get_objects())


def test_collections_of_garbage_pass_over_what_is_loaded(
    folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop
) -> None:
    model, index = folders
    stages = LocalStages(settings_of(index), loop)
    stages.start(Release(model, index, "000001"))
    assert is_looked_at(later := [stages])
    assert not is_looked_at(later[0].backend)
    stages.switch_to(Release(model, index, "000002"))
    assert is_looked_at(stages.backend)
    stages.delete_old_stages()
    assert not is_looked_at(stages.backend)


def test_another_release_takes_its_place_unless_it_cannot_be_loaded(
    stages: LocalStages, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    model, index = folders
    first = stages.backend
    with pytest.raises(RolloutError, match="000009"):
        stages.switch_to(Release(model, index, "000009"))
    stages.tell((REFUSED,))
    assert stages.backend is first
    assert first.refused == (REFUSED,)
    stages.switch_to(Release(model, index, "000002"))
    stages.delete_old_stages()
    assert (stages.backend.index_version, first.index_version) == ("000002", "000001")


@pytest.fixture
def watched(folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop) -> LocalStages:
    """Stages whose next release has a canary that goes on until it is ended."""
    model, index = folders
    stages = LocalStages(settings_of(index, canary_s=600), loop)
    stages.start(Release(model, index, "000001"))
    return stages


@pytest.fixture
def never_collected() -> Iterator[None]:
    """Python collects nothing by itself, so that what is free was freed on purpose."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def canary_of(stages: LocalStages) -> Canary:
    """The canary, once there is one."""
    end = time.monotonic() + WAIT_S
    while not isinstance(canary := stages.backend, Canary):
        assert time.monotonic() < end
        time.sleep(0.01)
    return canary


def ask(stages: LocalStages, loop: asyncio.AbstractEventLoop) -> str:
    """The index of the release that answers a request."""

    async def answer() -> str:
        backend = stages.backend
        found = await backend.recommend(
            Query("q", title="Parsing"), Options(top_k=5, depth=30), Deadline.after(60, partial=False)
        )
        return (found.answered_by or backend).index_version

    return asyncio.run_coroutine_threadsafe(answer(), loop).result(60)


def ask_in_vain(backend: Any, loop: asyncio.AbstractEventLoop) -> None:
    """A request whose error the first stage raises, and which refers to that stage."""

    def broken(*_: object) -> None:
        raise ValueError("a defect")

    query, deadline = Query("q", title="Parsing"), Deadline.after(60, partial=False)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(StageFailedError, match="ValueError"):
        patch.setattr(QueryBlocks, "read", broken)
        asyncio.run_coroutine_threadsafe(
            backend.recommend(query, Options(top_k=5, depth=30), deadline), loop
        ).result(60)
    for _ in range(2):  # the step, and the look for a next one: the thread refers to nothing any more
        backend._retriever._stage._worker._thread.run_first(int)


@contextmanager
def switching(stages: LocalStages, release: Release) -> Iterator[Future[None]]:
    """Turn to a release in another thread, which has ended when the block has, also where that fails."""
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(stages.switch_to, release)
        finally:
            stages.interrupt()


def parts_of(pair: Any) -> list[weakref.ref[Any]]:
    """What a release has loaded: both stages, what each computes with, and its papers."""
    stages = pair._retriever._stage, pair._reranker._stage
    parts = [pair, pair.papers, *stages, *(stage._worker._stage for stage in stages)]
    return [weakref.ref(part) for part in parts]


def test_in_a_canary_another_release_answers_its_share(
    watched: LocalStages, folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop
) -> None:
    model, index = folders
    with switching(watched, Release(model, index, "000002")) as switched:
        canary = canary_of(watched)
        assert [ask(watched, loop) for _ in range(4)] == ["000001", "000002"] * 2
        assert [tally.requests for tally in canary.tallies] == [2, 2]
        assert watched.backend.index_version == "000001", "most is answered by it"
        watched.interrupt()
        with pytest.raises(RolloutError, match="the endpoint was ended before the canary was"):
            switched.result()
    assert ask(watched, loop) == "000001"


@pytest.mark.usefixtures("never_collected")
def test_a_canary_that_fails_is_rolled_back_and_its_requests_are_answered(
    watched: LocalStages, folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop
) -> None:
    model, index = folders
    with switching(watched, Release(model, index, "000002")) as switched:
        trial: Any = canary_of(watched).trial
        loaded = parts_of(trial)
        ask_in_vain(trial, loop)
        trial._retriever = None  # its golden queries were answered; requests are not
        del trial
        while not switched.done():
            assert ask(watched, loop) == "000001"
        with pytest.raises(RolledBackError, match="requests failed, and 0 of"):
            switched.result()
        del switched
    assert not isinstance(watched.backend, Canary)
    watched.tell((REFUSED,))
    assert watched.backend.refused == (REFUSED,)
    assert [part() for part in loaded] == [None] * len(loaded)


@pytest.mark.usefixtures("never_collected")
def test_what_is_not_served_any_more_takes_no_memory(
    folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop
) -> None:
    model, index = folders
    stages = LocalStages(settings_of(index, canary_s=0.1), loop)
    stages.start(Release(model, index, "000001"))
    ask(stages, loop)
    old = parts_of(stages.backend)
    ask_in_vain(stages.backend, loop)
    stages.switch_to(Release(model, index, "000002"))
    stages.delete_old_stages()
    assert ask(stages, loop) == "000002"
    assert [part() for part in old] == [None] * len(old)


def test_a_stage_that_does_not_compute_is_not_ready(
    stages: LocalStages, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ready() -> None:
        asyncio.run_coroutine_threadsafe(stages.backend.ready(), loop).result(60)

    ready()

    async def stuck() -> None:
        raise UnhealthyError("a step has taken 31 s so far")

    monkeypatch.setattr(stages.backend._stages[0], "check_health", stuck)  # type: ignore[attr-defined]
    with pytest.raises(NotReadyError, match="a stage does not compute: a step has taken 31 s"):
        ready()

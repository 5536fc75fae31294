"""Stages of this process: a release is served when its answers are sound, and another one takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.event_loops import running_loop
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.http.deadline import Deadline
from cocite_serve.http.problems import NotReadyError
from cocite_serve.http.version_schemas import RefusedRelease
from cocite_serve.one_process.stages import LocalStages
from cocite_serve.release import Release
from cocite_serve.replicas.health import UnhealthyError
from cocite_serve.rollouts.errors import RolloutError
from cocite_serve.settings import ServeSettings

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


@pytest.fixture(scope="module")
def stages(folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop) -> LocalStages:
    model, index = folders
    stages = LocalStages(ServeSettings(index=index, request_timeout_s=0.1, rollout={"timeout_s": 120}), loop)
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

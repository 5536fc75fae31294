"""The real stages of the starter corpus, asked as through Ray Serve's handles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.event_loops import running_loop
from helpers.served_cross_encoder import cross_encoder_folder
from ray import serve
from ray.exceptions import RayActorError

from cocite.corpus.starter import build_starter
from cocite.pipeline.golden_answers import correlations, overlap
from cocite.pipeline.golden_queries import make_golden_queries
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.one_process.handles import LocalHandle, from_threads
from cocite_serve.release import Release
from cocite_serve.replicas.stages import Reranker, Retriever
from cocite_serve.rollouts.asked_stages import AskedStages


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with running_loop() as loop:
        yield loop


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("asked")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return cross_encoder_folder(folder), folder / "index"


@pytest.fixture(scope="module")
def asked(folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop) -> Iterator[AskedStages]:
    model, index = folders
    make_golden_queries(model, index, 4)
    release = Release(model, index, "000001")
    retriever: Any = LocalHandle(Retriever(release), from_threads(loop))
    reranker = LocalHandle(Reranker(release, retriever), from_threads(loop))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serve, "get_app_handle", lambda name: reranker)
        yield AskedStages.open("cocite-stages-1", seconds=60)


def test_the_endpoint_answers_what_the_library_kept(asked: AskedStages) -> None:
    kept = asked.kept()
    assert kept is not None
    found = {query.id: asked.ask(query, seconds=60) for query in kept.queries}
    known = asked.known([id_ for answer in kept.answers.values() for id_ in answer.ids])
    assert overlap(kept.answers, found, known) == pytest.approx(1, abs=0.1)
    assert correlations(kept.answers, found)["cross-encoder"] > 0.95
    assert all(answer.seconds > 0 for answer in found.values())


def test_a_query_has_only_so_many_seconds(asked: AskedStages) -> None:
    [query, *_] = asked.choose(2)
    with pytest.raises(TimeoutError, match=r"^$|^the deadline passed"):
        asked.ask(query, seconds=0)


class Dying:
    """A handle whose first calls meet replicas that die."""

    def __init__(self, handle: Any, deaths: int) -> None:
        self._handle, self.deaths = handle, deaths

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._call(method, *arguments))

    def _call(self, method: str, *arguments: Any) -> Any:
        if self.deaths:
            self.deaths -= 1
            return SimpleNamespace(result=dead)
        return getattr(self._handle, method).remote(*arguments)


def dead(timeout_s: float) -> None:
    raise RayActorError


def test_a_query_whose_replicas_die_is_asked_again_and_not_for_ever(asked: AskedStages) -> None:
    [query, *_] = asked.choose(2)
    expected = asked.ask(query, seconds=60)
    retriever, reranker = Dying(asked._retriever, 1), Dying(asked._reranker, 3)
    stages = AskedStages(asked.release, asked._papers, retriever, reranker, asked._kinds)
    assert stages.ask(query, seconds=60).ids == expected.ids
    assert retriever.deaths == reranker.deaths == 0
    reranker.deaths = 4
    with pytest.raises(RayActorError, match="actor experienced an error"):
        stages.ask(query, seconds=60)


def test_papers_are_known_by_the_index(asked: AskedStages) -> None:
    assert asked.known(["devlin2019bert", "no-such-paper"]) == {"devlin2019bert"}


def test_without_a_model_nothing_is_kept(folders: tuple[Path, Path]) -> None:
    release = Release(None, folders[1], "000001")
    papers: Any = None
    assert AskedStages(release, papers, None, None).kept() is None


def test_a_retriever_without_a_reranker_answers_alone(
    folders: tuple[Path, Path], loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = LocalHandle(Retriever(Release(None, folders[1], "000001")), from_threads(loop))
    monkeypatch.setattr(serve, "get_app_handle", lambda name: retriever)
    alone = AskedStages.open("cocite-stages-1", seconds=60)
    [query, *_] = alone.choose(2)
    assert len(alone.ask(query, seconds=60).ids) > 5

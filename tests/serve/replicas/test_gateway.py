"""The gateway without Ray: handles whose calls run in the test's process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray import serve
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

from cocite.corpus.starter import build_starter
from cocite.errors import InputError
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.release import Release
from cocite_serve.replicas.gateway import Gateway, StagePair, translate_errors
from cocite_serve.replicas.stages import LoadedVersions, Reranker, Retriever


class Handle:
    """Ray Serve's handle of a deployment, as far as a gateway uses it."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=getattr(self.stage, method))


class Failing:
    """A stage whose every call raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def versions(self) -> LoadedVersions:
        raise self.error

    async def retrieve(self, *_: object) -> None:
        raise self.error


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder with two snapshots."""
    folder = tmp_path_factory.mktemp("gateway")
    corpus = build_starter(folder / "corpus")
    IndexSnapshot.create(corpus, folder / "index")
    IndexSnapshot.remove(folder / "index", corpus.ids([0]))
    return folder / "index"


@pytest.fixture
def apps(index: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Handle]:
    """The stages' applications by name, which Ray Serve hands out: one for each snapshot."""
    apps = {}
    for number in (1, 2):
        release = Release(None, index, f"{number:06d}")
        retriever: Any = Handle(Retriever(release))
        apps[f"cocite-stages-{number}"] = Handle(Reranker(release, retriever))
    monkeypatch.setattr(serve, "get_app_handle", apps.__getitem__)
    return apps


def test_a_pair_ranks_as_the_recommender_does(index: Path, apps: dict[str, Handle]) -> None:
    recommender = Recommender.load(None, index)
    query, options = recommender.query(title="Neural machine translation"), Options(top_k=5, depth=50)

    async def ask() -> Any:
        pair = await StagePair.open("cocite-stages-2")
        await pair.ready()
        assert (pair.model_version, pair.index_version, pair.registered) == ("", "000002", None)
        assert len(pair.papers) == 422
        return await pair.recommend(query, options)

    answer = asyncio.run(ask())
    assert [paper.id for paper in answer.recommendations] == [
        paper.id for paper in recommender.recommend(query, options)
    ]
    assert answer.retrieve_ms > 0
    assert answer.rerank_ms > 0


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
        asyncio.run(pair.recommend(None, None))  # type: ignore[arg-type]
    pair._retriever = Handle(Failing(RayActorError()))  # type: ignore[assignment]
    with pytest.raises(NotReadyError, match="a stage's process ended"):
        asyncio.run(pair.ready())


def test_a_gateway_opens_other_stages_once_when_it_is_switched(apps: dict[str, Handle]) -> None:
    gateway: Any = SimpleNamespace(_app="")
    switch_to = Gateway.__mro__[1].switch_to
    asyncio.run(switch_to(gateway, "cocite-stages-1"))
    first = gateway._pair
    asyncio.run(switch_to(gateway, "cocite-stages-1"))
    assert gateway._pair is first
    asyncio.run(switch_to(gateway, "cocite-stages-2"))
    assert (gateway._pair.index_version, first.index_version) == ("000002", "000001")


@pytest.mark.parametrize(
    ("error", "expected", "sentence"),
    [
        (BackPressureError(3, 2), OverloadedError, "num_queued_requests=3"),
        (
            DeploymentUnavailableError(None),
            NotReadyError,
            "a stage failed to start; the server's log says why",
        ),
        (
            RayActorError(),
            NotReadyError,
            "a stage's process ended while it worked on this request; try again",
        ),
        (RayTaskError("retrieve", "", InputError("no such year")), InputError, "no such year"),
        (RayTaskError("rerank", "", NotReadyError("another version")), NotReadyError, "another version"),
        (KeyError("a defect"), KeyError, "a defect"),
    ],
)
def test_rays_errors_become_the_apis(error: Exception, expected: type[Exception], sentence: str) -> None:
    with pytest.raises(expected, match=sentence), translate_errors():
        raise error

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.http.problems import NotReadyError
from cocite_serve.release import Release
from cocite_serve.replicas.stages import (
    LoadedVersions,
    Reranker,
    RetrievedCandidates,
    Retriever,
)


def test_stages_of_different_versions_never_answer_together() -> None:
    LoadedVersions("m1", "000001").require_same(LoadedVersions("m1", "000001"), "reranker")
    for other in (LoadedVersions("m2", "000001"), LoadedVersions("m1", "000002")):
        with pytest.raises(
            NotReadyError, match=r"the reranker serves model .* but this request needs model m1"
        ):
            LoadedVersions("m1", "000001").require_same(other, "reranker")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("stages")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return Release(None, folder / "index", "000001")


def test_the_two_stages_rank_as_the_recommender_does(release: Release) -> None:
    recommender = Recommender.load(None, release.index)
    query, options = recommender.query(title="Neural machine translation"), Options(top_k=10, depth=50)

    async def served() -> Any:
        retriever = Retriever(release)
        handle: Any = object()
        reranker = Reranker(release, handle)
        assert await reranker.release() == (release, handle)
        assert await reranker.versions() == await retriever.versions()
        return await reranker.rerank(query, await retriever.retrieve(query, options), options)

    papers = asyncio.run(served())
    expected = recommender.recommend(query, options)
    assert [(paper.id, paper.score) for paper in papers] == [(paper.id, paper.score) for paper in expected]
    assert papers[0].evidence == expected[0].evidence


def test_a_reranker_refuses_candidates_of_another_snapshot(release: Release) -> None:
    candidates: Any = None
    retrieved = RetrievedCandidates(candidates, LoadedVersions("", "000002"))
    query = Recommender.load(None, release.index).query(title="x")
    handle: Any = None
    reranker = Reranker(release, handle)
    with pytest.raises(NotReadyError, match="the retriever serves model  and index 000002"):
        asyncio.run(reranker.rerank(query, retrieved, Options()))


def test_a_stage_loads_the_snapshot_of_its_release(release: Release, tmp_path: Path) -> None:
    index = tmp_path / "index"
    corpus = build_starter(tmp_path / "corpus")
    IndexSnapshot.create(corpus, index)
    IndexSnapshot.remove(index, corpus.ids([0]))
    retriever = Retriever(Release(None, index, "000001"))
    assert asyncio.run(retriever.versions()) == LoadedVersions("", "000001"), "not the current one"

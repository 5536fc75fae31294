from __future__ import annotations

import asyncio
import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.served_cross_encoder import cross_encoder_folder
from helpers.served_texts import texts_folders

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.http.text_work import EmbedWork, ScoreWork
from cocite_serve.release import Release
from cocite_serve.replicas.stages import (
    LoadedVersions,
    Reranker,
    RetrievedCandidates,
    Retriever,
)
from cocite_serve.settings import RerankerSettings, RetrieverSettings


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

    reranked = asyncio.run(served())
    papers = reranked.papers
    assert (reranked.read, reranked.of) == (0, 0), "there is no cross-encoder"
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


OPTIONS = Options(top_k=10, depth=60, rerank=40)
CONTEXTS = ("Parsing as in [CIT]", "scored with BLEU [CIT]", "vectors of words [CIT]", "attention of [CIT]")


@pytest.fixture(scope="module")
def reading(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The same with a cross-encoder."""
    model = cross_encoder_folder(tmp_path_factory.mktemp("cross"))
    return dataclasses.replace(release, model=model)


PATIENT = {"max_wait_s": 600.0}
"""A stage that was held up while it measured its pace expects the requests of these tests to wait for a minute."""


def stages(release: Release, **settings: Any) -> tuple[Retriever, Reranker]:
    handle: Any = object()
    return (
        Retriever(release, settings=RetrieverSettings(**PATIENT)),
        Reranker(release, handle, settings=RerankerSettings(**PATIENT | settings)),
    )


def test_requests_at_once_are_answered_as_each_is_alone(reading: Release) -> None:
    recommender = Recommender.load(reading.model, reading.index)
    queries = [recommender.query(context=context) for context in CONTEXTS]

    async def served() -> Any:
        retriever, reranker = stages(reading, chunk_tokens=400)
        found = await asyncio.gather(*(retriever.retrieve(query, OPTIONS) for query in queries))
        return await asyncio.gather(
            *(reranker.rerank(query, each, OPTIONS) for query, each in zip(queries, found, strict=True))
        )

    for query, reranked in zip(queries, asyncio.run(served()), strict=True):
        assert (reranked.read, reranked.of) == (40, 40)
        expected = recommender.recommend(query, OPTIONS)
        assert [paper.id for paper in reranked.papers] == [paper.id for paper in expected]


def test_a_short_deadline_has_the_best_read_alone(reading: Release) -> None:
    recommender = Recommender.load(reading.model, reading.index)
    query = recommender.query(context=CONTEXTS[0])

    async def served() -> Any:
        retriever, reranker = stages(reading, chunk_tokens=64)
        found = await retriever.retrieve(query, OPTIONS)
        return await reranker.rerank(query, found, OPTIONS, 1e-6, True)

    reranked = asyncio.run(served())
    assert (reranked.read, reranked.of) == (0, 40), "there is no time for any"
    expected = recommender.recommend(query, dataclasses.replace(OPTIONS, rerank=0))
    assert [paper.id for paper in reranked.papers] == [paper.id for paper in expected]


def test_a_deadline_without_partial_answers_is_kept_or_missed(reading: Release) -> None:
    query = Recommender.load(reading.model, reading.index).query(context=CONTEXTS[0])

    async def served() -> None:
        retriever, reranker = stages(reading)
        found = await retriever.retrieve(query, OPTIONS)
        with pytest.raises(TimeoutError, match="the deadline passed before"):
            await reranker.rerank(query, found, OPTIONS, 1e-6)

    asyncio.run(served())


def test_the_refusals_of_both_stages_say_when_to_come_back(reading: Release) -> None:
    query = Recommender.load(reading.model, reading.index).query(context=CONTEXTS[0])

    async def served() -> None:
        retriever, reranker = stages(reading, max_wait_s=1e-6, chunk_tokens=64)
        await reranker.admit(query, OPTIONS, 60.0, False, 0)
        with pytest.raises(OverloadedError, match="the reranker refused a request: it would wait") as coming:
            await reranker.admit(query, OPTIONS, 60.0, False, 10_000)
        assert coming.value.retry_s is not None
        found = await retriever.retrieve(query, OPTIONS)
        go = threading.Event()
        reranker._worker._thread.start(lambda: go.wait(60))  # until then the first one is not answered
        first = asyncio.ensure_future(reranker.rerank(query, found, OPTIONS))
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="the reranker refused a request: it would wait") as refused:
            await reranker.rerank(query, found, OPTIONS)
        go.set()
        assert refused.value.retry_s is not None
        assert refused.value.retry_s > 0
        assert (await first).read == 40

    asyncio.run(served())


def test_a_block_is_searched_for_each_of_the_options(release: Release) -> None:
    recommender = Recommender.load(None, release.index)
    query = recommender.query(title="Neural machine translation")
    asked = [Options(depth=20), Options(depth=20, year_to=2010), Options(depth=30), Options(depth=20)]

    async def served() -> Any:
        retriever = Retriever(release, settings=RetrieverSettings(**PATIENT))
        return await asyncio.gather(*(retriever.retrieve(query, options) for options in asked))

    for options, found in zip(asked, asyncio.run(served()), strict=True):
        alone = recommender.first.retrieve([query], options)
        assert found.candidates.ranking.rows.tolist() == alone.ranking.rows.tolist()
        assert found.candidates.signals.keys() == alone.signals.keys()


def test_texts_are_embedded_and_scored_by_the_replicas(tmp_path: Path) -> None:
    model, index = texts_folders(tmp_path)
    release, query = Release(model, index, "000001"), Query("q", context="parsing as in TARGETCIT")
    retriever, reranker = stages(release)
    texts = EmbedWork("sentence", tuple(Query("q", title=title) for title in ("trees", "words", "", "trees")))

    async def served() -> Any:
        versions = await retriever.versions()
        [encoder], reader = await retriever.encoders(), await reranker.cross_encoder()
        assert (encoder.name, reader and reader.kind) == ("sentence", "local")
        with pytest.raises(NotReadyError, match="this request needs model other"):
            await retriever.embed(texts, LoadedVersions("other", "000001"))
        with pytest.raises(TimeoutError, match="the deadline passed before"):
            await retriever.embed(texts, versions, seconds=-1.0)
        return await asyncio.gather(
            retriever.embed(texts, versions), reranker.score(ScoreWork(query, ("trees", "words")))
        )

    vectors, logits = asyncio.run(served())
    assert (vectors.shape, logits.shape) == ((4, 32), (2,))
    np.testing.assert_array_equal(vectors[0], vectors[3])
    assert not vectors[2].any()

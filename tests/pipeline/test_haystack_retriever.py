"""A recommender as Haystack's component, with the real haystack-ai."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner

from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, NotFoundError
from cocite.pipeline import haystack_retriever
from cocite.pipeline.haystack_retriever import CociteRetriever
from cocite.pipeline.options import Options
from cocite.pipeline.passages import MAX_CHARACTERS, paper_content, paper_metadata
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot

GAP = "Rare words are split into subword units [CIT]."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("haystack") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return str(folder)


@pytest.mark.parametrize("text", [GAP, "Machine translation\nWe translate."])
def test_documents_are_the_recommenders_papers(index: str, text: str) -> None:
    recommender = Recommender.load(None, index)
    title, _, abstract = text.partition("\n")
    query = {"context": GAP} if text == GAP else {"title": title, "abstract": abstract}
    wanted = recommender.recommend(recommender.query(**query), Options(top_k=5))
    found = CociteRetriever(index, top_k=5).run(text)["documents"]
    assert [(one.id, one.score) for one in found] == [(paper.id, paper.score) for paper in wanted]
    for rank, (paper, one) in enumerate(zip(wanted, found, strict=True), 1):
        assert one.content == paper_content(paper)
        metadata = paper_metadata(paper, rank)
        assert {**one.meta, "id": one.id, "score": one.score} == metadata
        assert Document.from_dict(one.to_dict()) == one


@component
class _Ids:
    """Takes the ids of documents."""

    @component.output_types(ids=list[str])
    def run(self, documents: list[Document]) -> dict[str, list[str]]:
        return {"ids": [one.id for one in documents]}


def test_in_a_pipeline_that_is_written_and_read_again(index: str) -> None:
    options = {"year_from": 2010, "exclude_authors": ["Ashish Vaswani"]}
    written = Pipeline()
    written.add_component("papers", CociteRetriever(index, top_k=4, year=2016, options=options))
    written.add_component("join", DocumentJoiner())
    written.connect("papers.documents", "join.documents")
    text = written.dumps()
    assert index in text
    read = Pipeline.loads(text, allowed_modules=["cocite.*"])
    for pipeline in (written, read):
        found = pipeline.run({"papers": {"query": "Machine translation"}})["join"]["documents"]
        assert len(found) == 4
        assert all(2010 <= one.meta["year"] <= 2016 for one in found)
        assert all("Ashish Vaswani" not in one.meta["authors"] for one in found)
    assert read.to_dict() == written.to_dict()


def test_arguments_of_a_run_come_first(index: str) -> None:
    retriever = CociteRetriever(index, top_k=5, year=2012)
    assert len(retriever.run(GAP)["documents"]) == 5
    found = retriever.run(GAP, top_k=2, year=2018)["documents"]
    assert len(found) == 2
    assert max(one.meta["year"] for one in found) > 2012


def test_the_event_loop_goes_on_while_papers_are_ranked(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed, begun = threading.Event(), threading.Event()

    class Waiting(Recommender):
        """Ranks when it is allowed to."""

        def recommend(self, *arguments: Any, **options: Any) -> Any:
            begun.set()
            assert allowed.wait(60)
            return super().recommend(*arguments, **options)

    monkeypatch.setattr(haystack_retriever, "Recommender", Waiting)
    pipeline = Pipeline()
    pipeline.add_component("papers", CociteRetriever(index, top_k=3))
    pipeline.add_component("ids", _Ids())
    pipeline.connect("papers.documents", "ids.documents")

    async def run() -> dict[str, Any]:
        asked = asyncio.ensure_future(pipeline.run_async({"papers": {"query": GAP}}))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        # This line is reached before the ranking ends: nothing but it lets it end.
        allowed.set()
        return await asked

    found = asyncio.run(run())["ids"]["ids"]
    assert found == [one.id for one in CociteRetriever(index, top_k=3).run(GAP)["documents"]]


def test_one_query_at_a_time(index: str) -> None:
    retriever = CociteRetriever(index, top_k=3)
    texts = [GAP, "Machine translation", "Parsing"] * 4
    wanted = {text: retriever.run(text)["documents"] for text in set(texts)}

    async def run() -> list[dict[str, list[Document]]]:
        return await asyncio.gather(*map(retriever.run_async, texts))

    assert [found["documents"] for found in asyncio.run(run())] == [wanted[text] for text in texts]


def test_what_is_refused(index: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"options: no option is called 'year_form' \(did you mean 'year_from'\?\)"
    ):
        CociteRetriever(index, options={"year_form": 2010})
    with pytest.raises(InputError, match="options: no option is called 'top_k'"):
        CociteRetriever(index, options={"top_k": 3})
    with pytest.raises(InputError, match="top_k = 0 must be a whole number of at least 1"):
        CociteRetriever(index, top_k=0)
    retriever = CociteRetriever(index)
    with pytest.raises(InputError, match="top_k = -1"):
        retriever.run(GAP, top_k=-1)
    with pytest.raises(InputError, match="the query is empty"):
        retriever.run(" ")
    with pytest.raises(InputError, match="the query has more than 100,000 characters"):
        retriever.run("x" * (MAX_CHARACTERS + 1))
    with pytest.raises(NotFoundError, match="none: holds no index"):
        CociteRetriever(str(tmp_path / "none")).warm_up()

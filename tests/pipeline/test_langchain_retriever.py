"""A recommender as LangChain's retriever, with the real langchain-core."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError
from cocite.pipeline.langchain_retriever import CociteRetriever
from cocite.pipeline.options import Options
from cocite.pipeline.passages import MAX_CHARACTERS
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot

GAP = "Rare words are split into subword units [CIT]."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("langchain") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return folder


@pytest.fixture(scope="module")
def retriever(index: Path) -> CociteRetriever:
    return CociteRetriever.load(index, options=Options(top_k=5))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (GAP, {"context": GAP}),
        ("Machine translation", {"title": "Machine translation"}),
        ("\n Parsing \nWe parse\nsentences. ", {"title": "Parsing", "abstract": "We parse\nsentences."}),
    ],
)
def test_documents_are_the_recommenders_papers(
    retriever: CociteRetriever, text: str, query: dict[str, str]
) -> None:
    recommender = retriever.recommender
    wanted = recommender.recommend(recommender.query(**query), Options(top_k=5))
    found = retriever.invoke(text)
    assert len(found) == 5
    for rank, (paper, one) in enumerate(zip(wanted, found, strict=True), 1):
        assert isinstance(one, Document)
        assert (one.id, one.metadata["id"], one.metadata["rank"]) == (paper.id, paper.id, rank)
        assert one.page_content.startswith(paper.title)
        assert one.page_content.endswith(paper.abstract)
        for name in ("title", "venue", "doi", "score"):
            assert one.metadata[name] == getattr(paper, name)
        assert one.metadata["authors"] == list(paper.authors)
        assert [quote["text"] for quote in one.metadata["sentences"]] == [
            quote.sentence for quote in paper.evidence.sentences
        ]
        assert one.metadata["shared_words"] == [word for word, _ in paper.evidence.shared_words]


def test_documents_are_json(retriever: CociteRetriever) -> None:
    found = retriever.invoke(GAP)
    assert json.loads(json.dumps([one.metadata for one in found])) == [one.metadata for one in found]
    assert loads(dumps(found), allowed_objects="core") == found


def test_in_a_chain_and_in_a_batch(retriever: CociteRetriever) -> None:
    chain = retriever | RunnableLambda(lambda found: [one.metadata["title"] for one in found])
    titles = chain.batch([GAP, "Machine translation"])
    assert titles == [chain.invoke(GAP), chain.invoke("Machine translation")]
    assert "Subword" in titles[0][0]


class _Waiting(Recommender):
    """Ranks when it is allowed to."""

    allowed = threading.Event()
    begun = threading.Event()

    def recommend(self, *arguments: Any, **options: Any) -> Any:
        self.begun.set()
        assert self.allowed.wait(60)
        return super().recommend(*arguments, **options)


def test_the_event_loop_goes_on_while_papers_are_ranked(index: Path, retriever: CociteRetriever) -> None:
    waiting = CociteRetriever(recommender=_Waiting.load(None, index), options=Options(top_k=5))

    async def run() -> list[list[Document]]:
        asked = asyncio.gather(waiting.ainvoke(GAP), waiting.ainvoke("Machine translation"))
        while not _Waiting.begun.is_set():
            await asyncio.sleep(0.001)
        # This line is reached before any ranking ends: nothing but it lets one end.
        _Waiting.allowed.set()
        return await asked

    assert asyncio.run(run()) == [retriever.invoke(GAP), retriever.invoke("Machine translation")]


def test_a_year_and_a_model(index: Path) -> None:
    found = CociteRetriever.load(index, None, year=2014).invoke("Machine translation")
    assert len(found) == 10
    assert all(one.metadata["year"] <= 2014 for one in found)


def test_what_is_refused(retriever: CociteRetriever, index: Path) -> None:
    with pytest.raises(InputError, match="the query is empty"):
        retriever.invoke("  \n ")
    with pytest.raises(InputError, match="the query has more than 100,000 characters"):
        retriever.invoke("x" * (MAX_CHARACTERS + 1))
    for year in (0, 10_000):
        with pytest.raises(ValidationError, match="year"):
            CociteRetriever.load(index, year=year)

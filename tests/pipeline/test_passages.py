"""What the retrievers of other frameworks share."""

from __future__ import annotations

import json

import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, NotFoundError
from cocite.pipeline.options import Options
from cocite.pipeline.passages import MAX_CHARACTERS, paper_content, paper_metadata, query_of
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index


@pytest.fixture(scope="module")
def recommender() -> Recommender:
    return Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Words are split [CIT].", ("Words are split [CIT].", "", "")),
        ("Parsing", ("", "Parsing", "")),
        ("\n Parsing \nWe parse\nsentences. ", ("", "Parsing ", "We parse\nsentences.")),
    ],
)
def test_a_text_becomes_a_query(recommender: Recommender, text: str, parts: tuple[str, str, str]) -> None:
    row = recommender.index.corpus.ids([7])[0]
    query = query_of(recommender, text, year=2014, paper=row, id_="q9")
    assert (query.context, query.title, query.abstract) == parts
    assert (query.year, query.paper, query.id) == (2014, 7, "q9")


def test_what_is_refused(recommender: Recommender) -> None:
    with pytest.raises(InputError, match="the query is empty"):
        query_of(recommender, " \n ")
    with pytest.raises(InputError, match="the query has more than 100,000 characters"):
        query_of(recommender, "x" * (MAX_CHARACTERS + 1))
    with pytest.raises(NotFoundError, match="no-such-paper"):
        query_of(recommender, "Parsing", paper="no-such-paper")


def test_content_and_metadata_are_the_papers(recommender: Recommender) -> None:
    found = recommender.recommend(recommender.query(title="Machine translation"), Options(top_k=3))
    for rank, paper in enumerate(found, 1):
        meta = paper_metadata(paper, rank)
        assert json.loads(json.dumps(meta)) == meta
        assert (meta["id"], meta["rank"], meta["score"]) == (paper.id, rank, paper.score)
        assert [quote["text"] for quote in meta["sentences"]] == [
            quote.sentence for quote in paper.evidence.sentences
        ]
        assert meta["cited_by"] == [citing.id for citing in paper.evidence.cited_by]
        assert paper_content(paper) == f"{paper.title}\n\n{paper.abstract}" if paper.abstract else paper.title

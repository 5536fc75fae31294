"""The forms of a query's text."""

from __future__ import annotations

import pytest

from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.query_forms import QueryForm, manuscript_texts, query_texts, sentence_texts


def test_query_forms() -> None:
    query = Query("q", context="a gap TARGETCIT here", title="T", abstract="A b")
    texts = {form: query_texts([query], form)[0] for form in QueryForm if form is not QueryForm.KEY_TERMS}
    assert texts == {
        "title": "T", "title+abstract": "T A b", "context": "a gap here",
        "context+title": "a gap here T", "context+title+abstract": "a gap here T A b",
    }  # fmt: skip
    assert query_texts([Query("q", abstract="only this")], QueryForm.TITLE_ABSTRACT) == ["only this"]
    assert sentence_texts([query, Query("g", title="T", abstract="A")]) == ["a gap here", "T A"]
    with pytest.raises(ValueError, match="index="):
        query_texts([query], QueryForm.KEY_TERMS)


def test_neighbours_are_searched_with_all_text() -> None:
    query = Query("q", context="a gap TARGETCIT here", title="T", abstract="A b")
    assert manuscript_texts([query, Query("g", title="T")]) == ["a gap here T A b", "T"]


def test_key_terms_are_words_of_title_and_abstract(corpus: Corpus) -> None:
    index = Bm25Index.build(paper_texts(corpus, "text"))
    query = Query("q", context="grammar", title="parsing study7", abstract="parsing the zebra")
    [text] = query_texts([query], QueryForm.KEY_TERMS, index=index, key_terms=1)
    assert text == "study7"
    [text] = query_texts([query], QueryForm.KEY_TERMS, index=index)
    assert set(text.split()) == {"study7", "parsing"}

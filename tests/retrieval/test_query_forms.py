"""The forms of a query's text."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.index.documents import paper_texts
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm, manuscript_texts, query_texts, sentence_texts


def test_query_forms() -> None:
    query = Query("q", context="a gap TARGETCIT here", title="T", abstract="A b")
    texts = {form: query_texts([query], form)[0] for form in QueryForm if "key-terms" not in form}
    assert texts == {
        "title": "T", "title+abstract": "T A b", "context": "a gap here",
        "context+title": "a gap here T", "context+title+abstract": "a gap here T A b",
    }  # fmt: skip
    assert query_texts([Query("q", abstract="only this")], QueryForm.TITLE_ABSTRACT) == ["only this"]
    assert sentence_texts([query, Query("g", title="T", abstract="A")]) == ["a gap here", "T A"]
    with pytest.raises(ValueError, match="index="):
        query_texts([query], QueryForm.KEY_TERMS)
    with pytest.raises(ValueError, match="fields="):
        query_texts([query], QueryForm.FIELD_KEY_TERMS)


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


def test_key_terms_by_field_are_those_of_bo1_in_each_field(corpus: Corpus) -> None:
    """Bose-Einstein weights as Whoosh's ``key_terms_from_text`` has them, 3 of the title and 5 of the abstract."""
    retriever = Bm25Retriever(Index.build(corpus, History.all(corpus)), QueryForm.FIELD_KEY_TERMS)
    for row in (3, 40, 77):
        paper = corpus.paper(row)
        query = Query("q", title=paper.title, abstract=paper.abstract)
        expected = []
        for field, count in (("title", 3), ("abstract", 5)):
            index = retriever.index.papers[field]
            documents = [Counter(index.tokenizer.words(text)) for text in paper_texts(corpus, field)]
            words = list(index.tokenizer.words(getattr(query, field)))
            weights = {}
            for word, times in Counter(words).items():
                mean = sum(document[word] for document in documents) / len(corpus)
                weights[word] = times * math.log2((1 + mean) / mean) + math.log2(1 + mean)
            best = sorted(weights.values(), reverse=True)[:count]
            expected.append((weights, best))
        found = retriever.texts([query])[0].split()
        assert len(found) == sum(len(best) for _, best in expected)
        for (weights, best), own in zip(
            expected, (found[: len(expected[0][1])], found[len(expected[0][1]) :]), strict=True
        ):
            assert [weights[word] for word in own] == pytest.approx(best, rel=1e-9)
            assert len(set(own)) == len(own)

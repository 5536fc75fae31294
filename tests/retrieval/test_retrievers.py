"""The retrievers: what they find, what they never find, and their evidence."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.protocols import NO_ROW, Query, Ranking, Retriever
from cocite.retrieval import vector_retriever as dense
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.retrieval.query_forms import QueryForm, query_texts, sentence_texts
from cocite.retrieval.signals.citing_sentences import CitingSentences
from cocite.retrieval.signals.neighbours import Neighbours, expand
from cocite.retrieval.vector_retriever import VectorRetriever


@pytest.fixture(scope="module")
def index(corpus: Corpus) -> Index:
    return Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])


def every(index: Index) -> list[Retriever]:
    return [
        *(Bm25Retriever(index, form) for form in QueryForm),
        Bm25Retriever(index, "title", "abstract"),
        CitingSentences(index),
        Neighbours(index),
        Neighbours(index, neighbours=5, by=VectorRetriever(index, HashEncoder())),
        VectorRetriever(index, HashEncoder()),
    ]


def test_no_retriever_finds_the_query_or_what_it_excludes(corpus: Corpus, index: Index) -> None:
    queries = [
        Query(
            q.id,
            q.context,
            q.title,
            q.abstract,
            paper=q.paper,
            exclude=tuple(map(int, corpus.cites[q.paper])),
        )
        for q in queries_of(corpus, range(100, 140))
    ]
    for retriever in every(index):
        assert isinstance(retriever, Retriever)
        ranking = retriever.search(queries, len(corpus))
        for query, rows in zip(queries, ranking.rows, strict=True):
            assert not np.isin([query.paper, *query.exclude], rows).any(), retriever.name
            found = rows[rows != NO_ROW]
            assert len(set(found.tolist())) == len(found) > 0


def test_no_retriever_finds_a_paper_later_than_the_query_allows(tmp_path: Path) -> None:
    """Each query of a batch has its own limit; papers of unknown year stay."""
    records = [
        dataclasses.replace(record, year=0) if isinstance(record, PaperRecord) and i % 9 == 0 else record
        for i, record in enumerate(make_records(80))
    ]
    corpus = build(records, tmp_path / "store")
    years = np.asarray(corpus.years)
    assert (years == 0).any()
    index = Index.build(corpus, History.all(corpus), encoders=[HashEncoder()])
    limits = [1990, 2003, None, 2005, 2003, 2009]
    free = queries_of(corpus, range(100, 106))
    limited = [
        dataclasses.replace(query, candidates_until=limit) for query, limit in zip(free, limits, strict=True)
    ]
    ranker = CiteomaticRanker(index, HashEncoder(), neighbours=5)
    for name, search in [*((r.name, r.search) for r in every(index)), ("citeomatic", ranker.rank)]:
        for query, limit, rows in zip(limited, limits, search(limited, len(corpus)).rows, strict=True):
            found = rows[rows != NO_ROW]
            assert limit is None or (years[found] <= limit).all(), name
            if name.startswith(("bm25", "hash")):
                whole = search([dataclasses.replace(query, candidates_until=None)], len(corpus)).rows[0]
                allowed = (whole != NO_ROW) & (years[whole] <= (limit or 3000))
                np.testing.assert_array_equal(found, whole[allowed], err_msg=name)


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


def test_key_terms_are_the_rare_and_the_repeated(index: Index) -> None:
    papers = index.papers["text"]
    # "study7" occurs in one paper, "parsing" in many; unknown words and stop words are no terms.
    words = papers.key_terms(["parsing study7 parsing the study9 zebra"], 9)[0]
    assert sorted(words) == ["parsing", "study7", "study9"]
    assert papers.key_terms(["parsing study7 study9"], 2)[0] == ["study7", "study9"]
    mean = papers.counts[:, papers.vocabulary["parsing"]].sum() / len(papers)
    many = next(n for n in range(1, 50) if n * np.log2((1 + mean) / mean) > 8)
    assert papers.key_terms([" ".join(["parsing"] * many + ["study7"])], 1)[0] == ["parsing"]


def test_a_papers_own_contexts_never_vote(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(0, len(corpus.contexts), 9))
    sentences = CitingSentences(index, sentences=len(corpus.contexts))
    voters = sentences.nearest(queries)
    for query, rows in zip(queries, voters.rows, strict=True):
        assert query.paper not in index.context_papers[rows[rows != NO_ROW]]
    # A stranger with the same words does hear them.
    stranger = Query("s", context=queries[3].context)
    best = sentences.nearest([stranger]).rows[0, 0]
    assert index.context_papers[best] == queries[3].paper


def test_evidence_names_sentences_and_neighbours_that_cite(corpus: Corpus, index: Index) -> None:
    queries = queries_of(corpus, range(200, 220))
    sentences, neighbours = CitingSentences(index), Neighbours(index)
    heard, near = sentences.nearest(queries), neighbours.nearest(queries)
    cited, votes = sentences.count(heard).ranking(1).rows[:, 0], neighbours.count(near).ranking(1).rows[:, 0]
    for i in range(len(queries)):
        shown = sentences.evidence(heard, i, int(cited[i]))
        assert 0 < len(shown) <= 3
        for citing, text in shown:
            assert cited[i] in corpus.cites[citing]
            assert "TARGETCIT" in text
        rows = neighbours.evidence(near, i, int(votes[i]))
        assert 0 < len(rows) <= 5
        assert all(votes[i] in corpus.cites[row] for row in rows)
        places = [near.rows[i].tolist().index(row) for row in rows]
        assert places == sorted(places)
    assert sentences.evidence(heard, 0, 79) == (), "nobody cites the last paper"


def test_nothing_of_after_the_history_is_heard(corpus: Corpus) -> None:
    index = Index.build(corpus, History.until(corpus, 2004))
    queries = queries_of(corpus, range(200, 210))
    heard = CitingSentences(index).nearest(queries).rows
    assert corpus.years[index.context_papers[heard[heard != NO_ROW]]].max() <= 2004
    rows = Neighbours(index).search(queries, 80).rows
    assert set(rows[rows != NO_ROW].tolist()) <= set(History.until(corpus, 2004).cites.indices.tolist())


def test_expansion_is_the_neighbours_and_what_they_cite(corpus: Corpus) -> None:
    neighbours = Ranking(np.array([[70, 71], [3, NO_ROW]], np.int32), np.zeros((2, 2), np.float32))
    result = expand(neighbours, corpus.cites)
    assert set(result[0].tolist()) == {70, 71, *corpus.cites[70].tolist(), *corpus.cites[71].tolist()}
    assert set(result[1].tolist()) == {3, *corpus.cites[3].tolist()}


def test_an_unknown_field_is_refused(index: Index) -> None:
    with pytest.raises(InputError, match=r"'titel'.*'title'"):
        Bm25Retriever(index, "title", "titel")


class TwoFormEncoder(HashEncoder):
    """Reads a gap by its context alone, and the manuscript apart."""

    def encode_queries(self, queries):
        return self._encode([q.context or f"{q.title} {q.abstract}" for q in queries])

    def encode_manuscripts(self, queries):
        self.encoded += len(queries)
        return self._encode([f"{q.title} {q.abstract}" for q in queries])


def test_a_gap_has_a_vector_for_each_form(corpus: Corpus) -> None:
    encoder = TwoFormEncoder()
    retriever = VectorRetriever(Index.build(corpus, History.all(corpus), encoders=[encoder]), encoder)
    encoder.encoded = 0
    known = queries_of(corpus, range(6))
    vectors = retriever.encode(known)
    assert list(vectors) == ["hash", "hash:manuscript"]
    assert encoder.encoded == 0, "a manuscript in the corpus has its vector in the index"
    np.testing.assert_array_equal(
        vectors["hash:manuscript"], retriever.vectors.vectors([query.paper for query in known])
    )
    unknown = [dataclasses.replace(query, paper=NO_ROW) for query in known]
    np.testing.assert_allclose(
        retriever.encode([*unknown, known[0]])["hash:manuscript"][:6], vectors["hash:manuscript"], rtol=1e-5
    )
    assert encoder.encoded == len({query.title for query in known}), "each manuscript once"
    assert list(retriever.encode([Query("w", title="grammar")])) == ["hash"]
    plain = VectorRetriever(Index.build(corpus, History.all(corpus), encoders=[HashEncoder()]), HashEncoder())
    assert list(plain.encode(known)) == ["hash"]


def test_similarities_of_all_papers_are_those_of_the_nearest_and_no_less_than_the_last_of_them(
    corpus: Corpus, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = VectorRetriever(index, HashEncoder())
    queries = queries_of(corpus, range(100, 110))
    vectors = retriever.encode(queries)["hash"]
    exact = retriever.over_all(queries, vectors)
    assert all(exact[i, query.paper] == 0 for i, query in enumerate(queries)), (
        "nearness to itself is no measure"
    )
    cosines = np.maximum(vectors @ retriever.vectors.raw.T, 0)
    cosines[np.arange(10), [query.paper for query in queries]] = 0
    np.testing.assert_allclose(exact, cosines, rtol=1e-6)
    monkeypatch.setattr(dense, "FLAT_LIMIT", 10)
    monkeypatch.setattr(dense, "POOL", 7)
    pooled = retriever.over_all(queries, vectors)
    for i in range(len(queries)):
        seventh = np.sort(exact[i])[-7]
        np.testing.assert_allclose(pooled[i], np.maximum(exact[i], seventh), rtol=1e-5)

"""Ranking by vectors: what is never ranked, and the vector of a context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cocite.protocols import NO_ROW, Query
from cocite.systems.baselines.manuscripts import Manuscripts, ManuscriptSettings
from cocite.systems.baselines.texts import CitingTexts, only_words
from cocite.systems.baselines.vectors import MeanWords, VectorBaseline, read_contexts, unit
from cocite.text.paragraphs import SPECIAL
from cocite.text.queries import context_queries

PAPERS = np.array([[3, 0], [1, 1], [0, 0], [0, 2.5]], np.float32)


class Titled(VectorBaseline):
    """The vector of a query is the numbers of its title."""

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        return np.array([[float(part) for part in query.title.split()] for query in queries], np.float32)


@pytest.mark.parametrize(("cosine", "rows"), [(False, [0, 3, 1]), (True, [1, 0, 3])])
def test_the_inner_product_rewards_length_and_the_cosine_does_not(cosine: bool, rows: list[int]) -> None:
    ranking = Titled("t", PAPERS, cosine=cosine).search([Query("q", title="2 2")], 4)
    expected = unit(PAPERS) @ np.array([0.5**0.5] * 2) if cosine else PAPERS @ np.array([2.0, 2.0])
    assert ranking.rows[0, :3].tolist() == rows
    assert ranking.rows[0, 3] == NO_ROW, "a paper without a vector is never ranked"
    np.testing.assert_allclose(ranking.scores[0, :3], expected[rows], rtol=1e-6)


def test_own_and_excluded_papers_and_queries_without_a_vector_find_nothing() -> None:
    queries = [Query("own", title="1 1", paper=0, exclude=(3,)), Query("none", title="0 0")]
    rows = Titled("t", PAPERS, cosine=True).search(queries, 4).rows
    assert rows.tolist() == [[1, NO_ROW, NO_ROW, NO_ROW], [NO_ROW] * 4]


def test_a_context_is_the_mean_of_its_words(texts: CitingTexts) -> None:
    words = np.random.default_rng(0).normal(size=(texts.reader.size, 4)).astype(np.float32)
    baseline = MeanWords("m", texts.reader, words, np.zeros((9, 4), np.float32), cosine=False)
    text = texts.history.corpus.contexts.take("text", texts.history.contexts[:3])
    numbers = only_words(texts.contexts)
    vectors = baseline.encode([Query("q", context=context) for context in text])
    for i in range(3):
        mean = words[numbers.tokens[numbers.indptr[i] : numbers.indptr[i + 1]]].mean(axis=0)
        np.testing.assert_allclose(vectors[i], mean, rtol=1e-5)


def test_with_manuscripts_the_mean_is_over_both(texts: CitingTexts) -> None:
    words = np.random.default_rng(0).normal(size=(texts.reader.size, 4)).astype(np.float32)
    manuscripts = Manuscripts(texts.history.corpus, ManuscriptSettings())
    [query] = context_queries(texts.history.corpus, texts.history.contexts[:1])
    tokens = [
        *read_contexts(texts.reader, [query]).tokens.tolist(),
        *manuscripts.words(texts.reader, [query]).tokens.tolist(),
    ]
    papers = np.zeros((9, 4), np.float32)
    baseline = MeanWords("m", texts.reader, words, papers, cosine=False, manuscripts=manuscripts)
    np.testing.assert_allclose(baseline.encode([query])[0], words[tokens].mean(axis=0), rtol=1e-4, atol=1e-6)


def test_a_query_without_a_context_is_read_by_title_and_abstract(texts: CitingTexts) -> None:
    title, abstract = (texts.history.corpus.papers.take(name, [3])[0] for name in ("title", "abstract"))
    whole, gap = read_contexts(
        texts.reader, [Query("w", title=title, abstract=abstract), Query("g", f"{title} {abstract}")]
    ).lengths.tolist()
    assert whole == gap > 0
    tokens = read_contexts(texts.reader, [Query("w", title=title, abstract=abstract)]).tokens
    assert (tokens >= SPECIAL).all()

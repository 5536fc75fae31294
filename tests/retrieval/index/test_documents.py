"""The texts and vectors of a corpus, read in order."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.retrieval.index import documents
from cocite.retrieval.index.documents import context_texts, encode, paper_texts, with_progress
from cocite.text.gaps import around_gap, blank_marks


def test_texts_of_a_field_begin_at_a_row_and_are_empty_where_missing(corpus: Corpus) -> None:
    titles, abstracts = (corpus.papers.take(name, np.arange(len(corpus))) for name in ("title", "abstract"))
    assert any(not abstract for abstract in abstracts)
    for start in (0, 7, len(corpus)):
        assert list(paper_texts(corpus, "title", start)) == titles[start:]
        assert list(paper_texts(corpus, "abstract", start)) == [text or "" for text in abstracts[start:]]
        both = [f"{title} {abstract or ''}" for title, abstract in zip(titles, abstracts, strict=True)]
        assert list(paper_texts(corpus, "text", start)) == both[start:]


def test_contexts_come_in_the_order_of_the_corpus_in_the_form_asked_for(corpus: Corpus) -> None:
    positions = np.array([3, 17, 18, 90])
    texts = corpus.contexts.take("text", positions)
    assert list(context_texts(corpus, positions)) == [blank_marks(text) for text in texts]
    assert list(context_texts(corpus, positions[::-1], around_gap)) == [around_gap(text) for text in texts]


def test_papers_are_encoded_in_batches(
    corpus: Corpus, encoder: HashEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
    monkeypatch.setattr(documents, "ENCODE", 32)
    counts: list[int] = []
    np.testing.assert_array_equal(encode(corpus, encoder, advance=counts.append), whole)
    assert counts == [32, 32, 16]
    np.testing.assert_array_equal(encode(corpus, encoder, start=70), whole[70:])


class BrokenEncoder(HashEncoder):
    """Returns an infinite component."""

    def encode_papers(self, corpus, rows):
        return np.full((len(rows), self.dimension), np.inf, np.float32)


def test_vectors_that_are_not_finite_are_refused(corpus: Corpus) -> None:
    with pytest.raises(IntegrityError, match="vectors of papers are not finite"):
        encode(corpus, BrokenEncoder())


@given(st.integers(0, 20), st.integers(1, 6))
def test_progress_adds_up_and_changes_no_text(count: int, every: int) -> None:
    counts: list[int] = []
    texts = [str(i) for i in range(count)]
    assert list(with_progress(iter(texts), counts.append, every)) == texts
    assert sum(counts) == count
    assert counts[:-1] == [every] * (count // every)

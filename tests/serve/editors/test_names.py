from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.starter import starter_corpus
from cocite_serve.editors import names as module
from cocite_serve.editors.completions import words_of
from cocite_serve.editors.names import AuthorNames

CORPUS = starter_corpus()
EVERY = np.ones(len(CORPUS), bool)
NAMES = AuthorNames(CORPUS, EVERY)


@given(st.integers(0, len(CORPUS) - 1), st.integers(1, 10))
def test_a_paper_is_found_by_each_beginning_of_its_authors_names(row: int, letters: int) -> None:
    for author in CORPUS.paper(row).authors:
        for word in words_of(author):
            if word.isalpha():
                assert row in NAMES.rows(word[:letters], len(CORPUS))


@given(
    st.sampled_from([word for author in CORPUS.paper(0).authors for word in words_of(author)] + ["li", "man"])
)
def test_what_is_found_has_the_name_and_the_most_cited_come_first(word: str) -> None:
    rows = NAMES.rows(word, 20)
    cited = np.diff(CORPUS.cited_by.indptr)[rows].tolist()
    assert cited == sorted(cited, reverse=True)
    for row in rows:
        parts = words_of(" ".join(CORPUS.paper(row).authors))
        assert any(part.startswith(word) for part in parts)


def test_removed_papers_and_large_corpora_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    [row] = NAMES.rows("papineni", 5)
    removed = EVERY.copy()
    removed[row] = False
    assert AuthorNames(CORPUS, removed).rows("papineni", 5) == []
    assert NAMES.rows("2002", 5) == NAMES.rows("", 5) == []
    monkeypatch.setattr(module, "MAX_PAPERS", len(CORPUS) - 1)
    assert NAMES.rows("papineni", 5) == []

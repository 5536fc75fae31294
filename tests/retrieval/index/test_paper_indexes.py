"""The papers' fields: each index is the one that its own texts make, also after papers were added."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import make_records

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.documents import FIELDS, paper_texts
from cocite.retrieval.index.paper_indexes import PaperIndexes

QUERIES = ["constituent parsing of treebank", "dependency", "nothing known zebra"]


@pytest.mark.parametrize("name", FIELDS)
def test_an_index_is_that_of_the_fields_texts(corpus: Corpus, name: str) -> None:
    settings = Bm25Fields.from_options([f"{name}.k1=2", f"{name}.b=0.4"], option="--bm25")
    papers = PaperIndexes.build(corpus, settings)
    alone = Bm25Index.build(paper_texts(corpus, name), k1=2, b=0.4)
    np.testing.assert_allclose(papers[name].scores(QUERIES), alone.scores(QUERIES), rtol=1e-6)
    assert papers.settings == settings


def test_added_papers_stand_behind_and_keep_the_statistics(corpus: Corpus, tmp_path: Path) -> None:
    grown = build(make_records(9, start=80, seed=2), tmp_path / "grown", base=corpus)
    papers = PaperIndexes.build(corpus).append(grown)
    for name in ("text", "title"):
        after = Bm25Index.build(paper_texts(corpus, name)).append(paper_texts(grown, name, len(corpus)))
        np.testing.assert_allclose(papers[name].scores(QUERIES[:2]), after.scores(QUERIES[:2]), rtol=1e-6)
    exact = Bm25Index.build(paper_texts(grown, "abstract"))
    np.testing.assert_allclose(papers["abstract"].scores(QUERIES), exact.scores(QUERIES), rtol=1e-6)


def test_saved_and_loaded_they_are_the_same(corpus: Corpus, tmp_path: Path) -> None:
    settings = Bm25Fields.from_options(["abstract.k1=3"], option="--bm25")
    papers = PaperIndexes.build(corpus, settings)
    papers.save(tmp_path / "papers")
    loaded = PaperIndexes.load(tmp_path / "papers")
    assert loaded.settings == settings
    for name in FIELDS:
        np.testing.assert_array_equal(loaded[name].scores(QUERIES), papers[name].scores(QUERIES))

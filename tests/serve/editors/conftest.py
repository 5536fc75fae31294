"""A completer over the starter corpus, one for all tests of this folder."""

from __future__ import annotations

import pytest

from cocite.corpus.history import History
from cocite.corpus.starter import starter_corpus
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.index import Index
from cocite_serve.editors.completions import Completer


@pytest.fixture(scope="package")
def completer() -> Completer:
    corpus = starter_corpus()
    return Completer(Recommender.over(None, Index.build(corpus, History.all(corpus))))

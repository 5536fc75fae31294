"""``/v1/examples``: drafts for the corpus that holds what their gaps need."""

from __future__ import annotations

import numpy as np
from helpers.api_backend import InProcess, client

from cocite.corpus.starter.drafts import starter_drafts
from cocite.drafts.gaps import GAP
from cocite_serve.http.example_paths import examples_among
from cocite_serve.http.papers import Papers


def test_an_index_of_the_starter_corpus_has_all_drafts(backend: InProcess) -> None:
    told = client(backend).get("/v1/examples")
    assert told.status_code == 200
    assert [draft["name"] for draft in told.json()] == [draft.path.name for draft in starter_drafts()]
    for draft, starter in zip(told.json(), starter_drafts(), strict=True):
        assert draft["title"]
        assert len(GAP.findall(draft["text"])) == len(starter.expected)


def test_a_draft_is_left_out_when_a_paper_of_its_gaps_is_not_served(backend: InProcess) -> None:
    corpus = backend.papers.corpus
    alive = np.ones(len(corpus.years), bool)
    alive[corpus.find([starter_drafts()[1].expected[2]])] = False
    assert [draft.name for draft in examples_among(Papers(corpus, alive))] == [
        "translation.tex",
        "recommendation.txt",
    ]
    assert examples_among(Papers(corpus, np.zeros(len(corpus.years), bool))) == []

from __future__ import annotations

from dataclasses import replace

from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.rerankers import encoder_trainings, reranker_training


def test_an_encoder_is_pretrained_where_none_is_named(empty_setup: Setup) -> None:
    assert [training.artifacts for training in encoder_trainings(empty_setup)] == [("model/masked-lm",)]
    assert encoder_trainings(replace(empty_setup, encoder="folder")) == []
    assert encoder_trainings(replace(empty_setup, size="paper")) == [], "the paper's recipe names SciBERT"


def test_a_reranker_lies_where_its_table_looks(empty_setup: Setup) -> None:
    made = reranker_training(empty_setup, "of BM25", "cross-encoder-small", [], to="bm25")
    assert made.artifacts == ("bm25/cross-encoder",)

"""Texts in the place of papers get the scores of papers of the same text, whatever the chunks they are read in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.errors import InputError
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.stepwise_ranking import read_together
from cocite.pipeline.text_scores import TextScores
from cocite.protocols import Query, Ranking
from cocite.retrieval.index.index import Index
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker
from cocite.text.pair_tokenizer import PairSettings

TEXTS = ["a parser of trees", "scores of translations", "vectors " * 40, "words"]
QUERY = Query("q", context="trees are found as in TARGETCIT")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> SecondStage:
    folder: Path = tmp_path_factory.mktemp("texts")
    corpus = build([PaperRecord(f"p{i}", text.strip()) for i, text in enumerate(TEXTS)], folder / "corpus")
    torch.manual_seed(0)
    model = CrossEncoder.from_pretrained(
        tiny_bert(folder / "bert", []), PairSettings(query_tokens=48, candidate_tokens=64)
    )
    scorer = PairScorer(model, precision="fp32", threads=1, device="cpu", tokens=300)
    return SecondStage(
        Index.build(corpus, History.all(corpus)), cross_encoder=CrossEncoderReranker(scorer, corpus)
    )


def test_a_text_is_scored_as_a_paper_of_that_title(stage: SecondStage) -> None:
    assert stage.cross_encoder is not None
    rows = np.arange(len(TEXTS), dtype=np.int32)[None]
    [expected] = stage.cross_encoder.score([QUERY], Ranking(rows, np.zeros(rows.shape, np.float32)))
    together, apart = TextScores(stage, QUERY, TEXTS), TextScores(stage, QUERY, TEXTS)
    assert (together.read, together.logits.tolist()) == (0, [])
    read_together(stage, [(together, 4), (apart, 1)])
    read_together(stage, [(apart, 3)])
    assert (together.read, apart.read) == (4, 4)
    np.testing.assert_allclose(together.logits, expected, atol=1e-5)
    np.testing.assert_allclose(apart.logits, expected, atol=1e-5)


def test_what_is_too_long_to_be_read_whole_is_refused_where_that_is_wanted(stage: SecondStage) -> None:
    with pytest.raises(
        InputError, match=r"texts: text 2 and the query have \d+ tokens, of which 112 can be read"
    ):
        TextScores(stage, QUERY, TEXTS, whole=True)
    assert len(TextScores(stage, QUERY, [TEXTS[0], TEXTS[1]], whole=True).pairs.lengths) == 2

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query, Ranking, Reranker
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.reranker import CrossEncoderReranker, load_cross_encoder
from cocite.text.pair_tokenizer import PairSettings
from cocite.text.paper_text import paper_text

QUERIES = [Query("1", "ba ca TARGETCIT da", "be ce", "fe ga"), Query("2", "", "a title", "of it")]
ROWS = np.array([[5, 9, 30], [9, NO_ROW, NO_ROW]], np.int32)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(60, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    place = tmp_path_factory.mktemp("model")
    model = CrossEncoder.from_pretrained(
        tiny_bert(place / "bert", []), PairSettings(query_tokens=48, candidate_tokens=64)
    )
    model.save(place / "model" / "cross-encoder")
    return place / "model"


@pytest.fixture(scope="module")
def reranker(folder: Path, corpus: Corpus) -> CrossEncoderReranker:
    return load_cross_encoder(folder, corpus, precision="fp32", threads=2, device="cpu", tokens=150)


def ranking(rows: np.ndarray) -> Ranking:
    return Ranking(rows, np.zeros(rows.shape, np.float32))


def test_it_is_a_reranker_with_an_id(reranker: CrossEncoderReranker, folder: Path) -> None:
    assert isinstance(reranker, Reranker)
    assert reranker.name == "cross-encoder"
    assert reranker.id == CrossEncoder.load(folder).id != ""


def test_each_pair_is_scored_by_the_model(
    reranker: CrossEncoderReranker, folder: Path, corpus: Corpus
) -> None:
    scores = reranker.score(QUERIES, ranking(ROWS))
    assert scores.shape == (2, 3)
    assert scores.dtype == np.float32
    assert np.isneginf(scores[1, 1:]).all()
    model = CrossEncoder.load(folder)
    for i, column in ((0, 0), (0, 2), (1, 0)):
        paper = corpus.paper(int(ROWS[i, column]))
        pair = model.pairs.batch(
            model.pairs.queries([QUERIES[i]]), model.pairs.papers([paper.title], [paper.abstract])
        )
        with torch.no_grad():
            assert scores[i, column] == pytest.approx(float(model(pair)), abs=1e-5)


def test_scores_do_not_depend_on_other_queries_or_order(reranker: CrossEncoderReranker) -> None:
    scores = reranker.score(QUERIES, ranking(ROWS))
    turned = reranker.score(QUERIES[::-1], ranking(np.ascontiguousarray(ROWS[::-1, ::-1])))
    np.testing.assert_allclose(turned[::-1, ::-1], scores, atol=1e-5)
    alone = reranker.score(QUERIES[:1], ranking(ROWS[:1, 1:2]))
    np.testing.assert_allclose(alone, scores[:1, 1:2], atol=1e-5)


def test_nothing_to_score(reranker: CrossEncoderReranker) -> None:
    assert np.isneginf(reranker.score(QUERIES, ranking(np.full((2, 2), NO_ROW, np.int32)))).all()
    assert reranker.score([], ranking(np.empty((0, 5), np.int32))).shape == (0, 5)


def test_pairs_read_in_chunks_of_several_queries_have_the_same_scores(
    reranker: CrossEncoderReranker,
) -> None:
    rows = [np.array([5, 9, 30, 2], np.int32), np.array([9, 7], np.int32)]
    pairs = [reranker.pairs(query, part) for query, part in zip(QUERIES, rows, strict=True)]
    first = reranker.read([(pairs[0], slice(0, 3)), (pairs[1], slice(0, 1))])
    rest = reranker.read([(pairs[1], slice(1, 2)), (pairs[0], slice(3, 4))])
    for query, part, found in (
        (QUERIES[0], rows[0], [first[0], rest[1]]),
        (QUERIES[1], rows[1], [first[1], rest[0]]),
    ):
        expected = reranker.score([query], ranking(part[None]))[0]
        np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-5)


def test_the_length_of_a_pair_is_that_of_its_tokens(reranker: CrossEncoderReranker) -> None:
    pairs = reranker.pairs(QUERIES[0], np.array([5, 9, 30], np.int32))
    left = pairs.query.take(np.zeros(3, np.int64))
    batch = reranker.scorer.pairs.batch(left, pairs.candidates)
    assert pairs.lengths.tolist() == batch.lengths.tolist()
    assert reranker.scorer.chunk_tokens == 150 * 2


def test_texts_are_tokenised_as_papers_are(reranker: CrossEncoderReranker, corpus: Corpus) -> None:
    rows = np.array([5, 9], np.int32)
    papers = reranker.pairs(QUERIES[0], rows)
    texts = [paper_text(paper.title, paper.abstract) for paper in corpus.papers_at(rows)]
    pairs = reranker.text_pairs(QUERIES[0], texts)
    assert pairs.lengths.tolist() == papers.lengths.tolist()
    np.testing.assert_allclose(
        reranker.read([(pairs, slice(None))])[0], reranker.read([(papers, slice(None))])[0], atol=1e-6
    )
    with pytest.raises(InputError, match="texts: text 1 and the query have"):
        reranker.text_pairs(QUERIES[0], ["ba", "ba " * 99], whole=True)

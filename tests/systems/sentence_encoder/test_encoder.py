"""A public sentence encoder: its vectors are the padded model's, and its artifact needs nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert
from transformers import AutoModel, AutoTokenizer

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder, ManuscriptEncoder, Query
from cocite.systems.sentence_encoder import encoder as sentence
from cocite.systems.sentence_encoder.encoder import SentenceEncoder, load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

WORDS = "a parser of trees finds the words in each sentence and learns from them".split()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), WORDS)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = np.random.default_rng(0)
    papers = [
        PaperRecord(f"p{i}", " ".join(rng.choice(WORDS, 4)), " ".join(rng.choice(WORDS, int(rng.integers(60)))))
        for i in range(30)
    ]  # fmt: skip
    return build([*papers, PaperRecord("bare", "only a title")], tmp_path_factory.mktemp("c") / "store")


@pytest.fixture(scope="module")
def encoder(source: Path, tmp_path_factory: pytest.TempPathFactory) -> SentenceEncoder:
    folder = tmp_path_factory.mktemp("m") / "sentence"
    save_sentence_encoder(folder, SentenceRecipe(encoder=str(source), max_tokens=48), {})
    return load_sentence_encoder(folder, dtype=torch.float32)


def test_vectors_are_the_means_of_single_texts(
    source: Path, encoder: SentenceEncoder, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence, "TOKENS", 200)
    rows = np.array([5, 30, 2, 17, 5, *range(20)], np.int32)
    vectors = encoder.encode_papers(corpus, rows)
    model, tokenizer = AutoModel.from_pretrained(source).eval(), AutoTokenizer.from_pretrained(source)
    for row, vector in zip(rows.tolist(), vectors, strict=True):
        paper = corpus.paper(row)
        text = f"{paper.title}. {paper.abstract}" if paper.abstract else paper.title
        with torch.no_grad():
            states = model(**tokenizer(text, truncation=True, max_length=48, return_tensors="pt"))
        mean = states.last_hidden_state[0].mean(0)
        np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def test_a_gap_has_two_vectors_and_a_manuscript_that_of_a_paper(
    encoder: SentenceEncoder, corpus: Corpus
) -> None:
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, ManuscriptEncoder)
    paper = corpus.paper(3)
    gap = Query("g", "trees TARGETCIT learn OTHERCIT words", paper.title, paper.abstract)
    whole = Query("w", "", paper.title, paper.abstract)
    known = encoder.encode_papers(corpus, np.array([3], np.int32))
    np.testing.assert_allclose(encoder.encode_manuscripts([gap]), known, atol=1e-6)
    np.testing.assert_allclose(encoder.encode_queries([whole]), known, atol=1e-6)
    np.testing.assert_allclose(
        encoder.encode_queries([gap]), encoder.encode(["trees learn words"]), atol=1e-6
    )


def test_nothing_to_read_is_the_zero_vector(encoder: SentenceEncoder) -> None:
    vectors = encoder.encode(["", "a parser", "  "])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [0, 1, 0], atol=1e-6)
    assert encoder.encode([]).shape == (0, 32)

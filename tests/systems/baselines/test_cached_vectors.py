"""Encoders without training, and vectors that are made once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.tiny_bert import tiny_bert

from cocite.protocols import Query
from cocite.systems.baselines.cached_vectors import EncoderBaseline, cached_vectors
from cocite.systems.baselines.pooled_transformer import PooledEncoder, pooled_encoder
from cocite.systems.sentence_encoder.encoder import SentenceEncoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "tiny", ["parsing"])


@pytest.fixture(scope="module")
def encoder(folder) -> PooledEncoder:
    return pooled_encoder(str(folder))


def test_papers_are_encoded_once_for_an_encoder_and_a_corpus(
    encoder, citing_corpus, tmp_path, monkeypatch
) -> None:
    first = cached_vectors(encoder, citing_corpus, tmp_path)
    rows = np.arange(5, dtype=np.int32)
    np.testing.assert_allclose(first[:5], encoder.encode_papers(citing_corpus, rows), atol=1e-5)
    with monkeypatch.context() as patch:
        patch.setattr(SentenceEncoder, "encode_papers", lambda *_: pytest.fail("encoded again"))
        np.testing.assert_array_equal(cached_vectors(encoder, citing_corpus, tmp_path), first)
    [place] = tmp_path.glob("vectors-*")
    (place / "vectors.npy").write_bytes(b"broken")
    np.testing.assert_array_equal(cached_vectors(encoder, citing_corpus, tmp_path), first)


def test_a_paper_is_nearest_to_its_own_text(encoder, citing_corpus, tmp_path) -> None:
    baseline = EncoderBaseline(
        "tiny", encoder, citing_corpus, cached_vectors(encoder, citing_corpus, tmp_path)
    )
    [title], [abstract] = (citing_corpus.papers.take(name, [7]) for name in ("title", "abstract"))
    found = baseline.search([Query("q", title=title, abstract=abstract)], 3)
    assert found.rows[0, 0] == 7
    assert found.scores[0, 0] == pytest.approx(1, abs=0.01)

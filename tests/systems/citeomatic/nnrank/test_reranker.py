from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.citeomatic import queries_of as queries
from helpers.citeomatic import untrained_nnrank as nnrank

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.protocols import NO_ROW, Encoder, Ranking, Reranker
from cocite.systems.citeomatic.nnrank import reranker as nnrank_reranker
from cocite.systems.citeomatic.nnrank.reranker import NNRankReranker, load_reranker, save_nnrank
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.text.fields import FieldEncoder


def candidates(rows: list[list[int]]) -> Ranking:
    values = np.array(rows, np.int32)
    return Ranking(values, np.zeros(values.shape, np.float32))


@pytest.fixture
def folder(tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder) -> Path:
    """A model folder with both, untrained."""
    save_nnselect(tmp_path / "model" / "nnselect", nnselect, fields, {})
    encoder = load_encoder(tmp_path / "model")
    save_nnrank(tmp_path / "model" / "nnrank", nnrank(fields), fields, {}, nnselect=encoder.id)
    return tmp_path / "model"


# -- protocols, saving, loading -------------------------------------------------------------------------------


def test_what_is_loaded_gives_what_was_saved(
    folder: Path, corpus: Corpus, history: History, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    encoder = load_encoder(folder)
    assert isinstance(encoder, Encoder)
    rows = np.arange(len(corpus), dtype=np.int32)
    vectors = encoder.encode_papers(corpus, rows)
    assert np.array_equal(vectors, nnselect.encode(fields.papers(corpus)))
    assert encoder.dimension == vectors.shape[1] == 8
    some = [3, 250]
    assert encoder.encode_queries(queries(corpus, some)) == pytest.approx(vectors[some], abs=1e-6)

    reranker = load_reranker(folder, corpus, history)
    assert isinstance(reranker, Reranker)
    before = NNRankReranker(
        nnrank(fields),
        fields,
        corpus,
        history,
        encoder=NNSelectEncoder(nnselect, fields, "x"),
        vectors=vectors,
    )
    asked, found = queries(corpus, some), candidates([[1, 2, 9], [7, NO_ROW, 4]])
    scores = reranker.score(asked, found)
    assert np.array_equal(scores, before.score(asked, found))
    assert np.isneginf(scores[1, 1])
    assert np.isfinite(np.delete(scores.ravel(), 4)).all()
    assert np.array_equal(
        load_reranker(folder / "nnrank", corpus, history, vectors).score(asked, found), scores
    )


def test_nnrank_refuses_another_nnselect(
    folder: Path, corpus: Corpus, history: History, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    nnselect.lambda_title.data += 0.1
    save_nnselect(folder / "nnselect", nnselect, fields, {})
    with pytest.raises(IntegrityError, match=r"was trained with NNSelect .*train nnrank again"):
        load_reranker(folder, corpus, history)


def test_vectors_and_encoder_must_fit(
    corpus: Corpus, history: History, fields: FieldEncoder, nnselect: NNSelect
) -> None:
    with pytest.raises(InputError, match="no NNSelect is given"):
        NNRankReranker(nnrank(fields), fields, corpus, history)
    encoder = NNSelectEncoder(nnselect, fields, "x")
    with pytest.raises(InputError, match="5 vectors for 300 papers"):
        NNRankReranker(
            nnrank(fields), fields, corpus, history, encoder=encoder, vectors=np.zeros((5, 8), np.float32)
        )


# -- scoring --------------------------------------------------------------------------------------------------


def test_a_large_corpus_is_scored_alike(
    folder: Path, corpus: Corpus, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, found = queries(corpus, [10, 200, 299]), candidates([[1, 2, 3], [5, 4, NO_ROW], [9, 8, 7]])
    small = load_reranker(folder, corpus, history)
    monkeypatch.setattr(nnrank_reranker, "CACHED", 0)
    monkeypatch.setattr(nnrank_reranker, "PAIRS", 3)
    large = load_reranker(folder, corpus, history)
    assert large.bags is None
    assert large.score(asked, found) == pytest.approx(small.score(asked, found), abs=1e-6)


def test_a_papers_own_links_do_not_count(folder: Path, corpus: Corpus, history: History) -> None:
    reranker = load_reranker(folder, corpus, history)
    owners, cited = history.cites.pairs()
    query, paper = int(owners[0]), int(cited[0])
    asked = queries(corpus, [query])[0]
    inside, outside = reranker.score([asked, replace(asked, paper=NO_ROW)], candidates([[paper]] * 2))
    assert inside != outside
    without = History(corpus, history.citing & (np.arange(len(corpus)) != query))
    again = load_reranker(folder, corpus, without).score([asked], candidates([[paper]]))
    assert again[0] == pytest.approx(inside, abs=1e-6)

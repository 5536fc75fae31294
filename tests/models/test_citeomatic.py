from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.protocols import NO_ROW, Encoder, Query, Ranking, Reranker
from cocite.systems.citeomatic import artifacts as citeomatic
from cocite.systems.citeomatic.artifacts import (
    NNRankReranker,
    NNSelectEncoder,
    load_encoder,
    load_reranker,
    save_nnrank,
    save_nnselect,
)
from cocite.systems.citeomatic.nnrank_network import NNRank, NNRankModelSettings
from cocite.systems.citeomatic.nnselect_network import NNSelect
from cocite.text.fields import FieldEncoder


def nnrank(fields: FieldEncoder, **settings: object) -> NNRank:
    torch.manual_seed(1)
    switches = {"dimension": 6, "authors": True, "venue": True, "keyphrases": True, **settings}
    made = NNRank({n: len(v) for n, v in fields.vocabularies.items()}, NNRankModelSettings.parse(switches))
    made.shared_weight.data.uniform_(-1, 1)
    return made


def queries(corpus: Corpus, rows: list[int]) -> list[Query]:
    return [
        Query(
            r.id,
            title=r.title,
            abstract=r.abstract,
            year=r.year,
            authors=r.authors,
            venue=r.venue,
            keyphrases=r.keyphrases,
            paper=row,
        )
        for row, r in zip(rows, corpus.papers_at(rows), strict=True)
    ]


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


def test_the_id_follows_the_weights(tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder) -> None:
    ids = []
    for name, shift in (("a", 0.0), ("b", 0.0), ("c", 0.1)):
        nnselect.lambda_title.data += shift
        save_nnselect(tmp_path / name, nnselect, fields, {"name": name})
        ids.append(load_encoder(tmp_path / name).id)
    assert ids[0] == ids[1] != ids[2]


def test_nnrank_refuses_another_nnselect(
    folder: Path, corpus: Corpus, history: History, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    nnselect.lambda_title.data += 0.1
    save_nnselect(folder / "nnselect", nnselect, fields, {})
    with pytest.raises(IntegrityError, match=r"was trained with NNSelect .*train nnrank again"):
        load_reranker(folder, corpus, history)


def test_damaged_weights_are_named(folder: Path, corpus: Corpus, history: History) -> None:
    (folder / "nnselect" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(IntegrityError, match=r"nnselect/model\.safetensors"):
        load_encoder(folder)


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
    monkeypatch.setattr(citeomatic, "CACHED", 0)
    monkeypatch.setattr(citeomatic, "PAIRS", 3)
    large = load_reranker(folder, corpus, history)
    assert large.bags is None
    assert large.score(asked, found) == pytest.approx(small.score(asked, found), abs=1e-6)
    assert large.explain(asked[0], found.rows[0]) == small.explain(asked[0], found.rows[0])


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


def test_explanations_are_the_shared_words_and_their_weights(
    folder: Path, corpus: Corpus, history: History
) -> None:
    reranker = load_reranker(folder, corpus, history)
    query, rows = queries(corpus, [100])[0], np.array([3, 50, 7], np.int32)
    found = reranker.explain(query, rows, limit=5)
    vocabulary = reranker.fields.vocabularies["words"]
    weight = reranker.model.shared_weight.detach().numpy()
    for row, words in zip(rows, found, strict=True):
        shared = {
            t
            for f in ("title", "abstract")
            for t in set(reranker.bags[f][100]) & set(reranker.bags[f][row])  # type: ignore[index]
        }
        expected = sorted((float(-weight[t]), vocabulary.types[t]) for t in shared)[:5]
        assert words == [(word, -w) for w, word in expected]
    assert any(found)
    plain = replace_model(reranker, nnrank(reranker.fields, intersection=False))
    assert plain.explain(query, rows) == [[], [], []]


def replace_model(reranker: NNRankReranker, model: NNRank) -> NNRankReranker:
    return NNRankReranker(
        model,
        reranker.fields,
        reranker.corpus,
        reranker.history,
        encoder=reranker.encoder,
        vectors=reranker.vectors,
    )

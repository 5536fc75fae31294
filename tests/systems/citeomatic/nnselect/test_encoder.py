from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.citeomatic import queries_of

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Encoder, Query
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.citeomatic.nnselect.text_encoders import TextEncoderKind
from cocite.text.fields import FieldEncoder


def test_the_id_follows_the_weights(tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder) -> None:
    ids = []
    for name, shift in (("a", 0.0), ("b", 0.0), ("c", 0.1)):
        nnselect.lambda_title.data += shift
        save_nnselect(tmp_path / name, nnselect, fields, {"name": name})
        ids.append(load_encoder(tmp_path / name).id)
    assert ids[0] == ids[1] != ids[2]


def test_a_query_is_encoded_as_the_paper_it_was_made_of(
    corpus: Corpus, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    encoder = NNSelectEncoder(nnselect, fields, "x")
    assert isinstance(encoder, Encoder)
    papers = encoder.encode_papers(corpus, np.array([3, 250], np.int32))
    assert encoder.encode_queries(queries_of(corpus, [3, 250])) == pytest.approx(papers, abs=1e-6)
    assert np.abs(encoder.encode_queries([Query("q", title="zzzz qqqq")])).max() == 0


def test_an_encoder_is_loaded_from_the_model_folder_or_its_own(
    tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    save_nnselect(tmp_path / "nnselect", nnselect, fields, {})
    outer, own = load_encoder(tmp_path), load_encoder(tmp_path / "nnselect")
    assert outer.id == own.id
    assert outer.dimension == own.dimension == nnselect.dimension


@pytest.mark.parametrize("kind", ["cnn", "rnn"])
def test_an_encoder_that_reads_words_in_order_is_loaded_as_it_was_saved(
    tmp_path: Path, corpus: Corpus, history: History, fields: FieldEncoder, kind: TextEncoderKind
) -> None:
    torch.manual_seed(4)
    model = NNSelect(len(fields.vocabularies["words"]), 8, encoder=kind, window=5)
    save_nnselect(tmp_path / "nnselect", model, fields, {})
    encoder, rows = load_encoder(tmp_path), np.array([3, 250, 7], np.int32)
    papers = encoder.encode_papers(corpus, rows)
    assert papers == pytest.approx(NNSelectEncoder(model, fields, "x").encode_papers(corpus, rows), abs=1e-6)
    assert np.linalg.norm(papers, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.encode_queries(queries_of(corpus, [3, 250, 7])) == pytest.approx(papers, abs=1e-6)
    assert np.abs(encoder.encode_queries([Query("q", title="zzzz qqqq")])).max() == 0
    turned = Query("q", title=" ".join(reversed(corpus.paper(3).title.split())))
    straight = Query("q", title=corpus.paper(3).title)
    assert not np.allclose(*encoder.encode_queries([turned, straight]), atol=1e-4)
    embedded = encoder.embed_papers(corpus, rows)
    assert embedded.tokens == sum(
        len(lists[row]) for lists in fields.paper_sequences(corpus).values() for row in rows
    )
    assert embedded.flops == 2.0 * model.multiplications * embedded.tokens
    # An index of these vectors answers with the paper that a query was made of.
    index = Index.build(corpus, history, encoders=[encoder])
    found = index.vectors["nnselect"].search(encoder.encode_queries(queries_of(corpus, [250])), 1)
    assert found.rows.tolist() == [[250]]


def test_the_artifact_of_bags_is_that_of_versions_without_other_encoders(
    tmp_path: Path, nnselect: NNSelect, fields: FieldEncoder
) -> None:
    save_nnselect(tmp_path / "nnselect", nnselect, fields, {})
    config = json.loads((tmp_path / "nnselect" / "config.json").read_text(encoding="utf-8"))
    assert set(config) == {"dimension", "fields"}
    assert set(nnselect.state_dict()) == {
        "words.magnitude",
        "words.direction",
        "lambda_title",
        "lambda_abstract",
    }

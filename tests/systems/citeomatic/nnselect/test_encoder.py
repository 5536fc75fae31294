from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.citeomatic import queries_of

from cocite.corpus.store import Corpus
from cocite.protocols import Encoder, Query
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder, load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
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

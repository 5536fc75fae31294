"""The files of sentence-transformers: what cocite writes, cocite and the public library read alike."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from helpers.tiny_bert import tiny_bert
from sentence_transformers import SentenceTransformer

from cocite.systems.sentence_encoder.encoder import SentenceSettings
from cocite.systems.sentence_encoder.folders import read_folder
from cocite.systems.sentence_encoder.module_files import write_sentence_transformer
from cocite.systems.sentence_encoder.pooling import Pooling


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_settings_come_back_as_they_were_written(tmp_path: Path, pooling: Pooling) -> None:
    folder = tiny_bert(tmp_path / "bert", ["parsing"])
    write_sentence_transformer(
        folder, SentenceSettings(max_tokens=40, pooling=pooling, query_prompt="ask: ", lower_case=True)
    )
    found = read_folder(str(folder))
    assert found is not None
    assert (found.pooling, found.max_tokens, found.lower_case) == (pooling, 40, True)
    assert (found.query_prompt, found.document_prompt, found.normalize) == ("ask: ", "", True)


def test_the_public_library_reads_the_folder(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert", ["parsing", "graph"])
    write_sentence_transformer(folder, SentenceSettings(max_tokens=16))
    public = SentenceTransformer(str(folder), device="cpu")
    assert public.max_seq_length == 16
    vectors = public.encode(["graph parsing", "parsing"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)

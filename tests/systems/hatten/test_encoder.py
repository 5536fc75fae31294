"""HAtten saved and loaded as an encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.small_hatten import small_hatten

from cocite.artifacts import seal
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.protocols import Encoder, Query
from cocite.systems.hatten import encoder as module
from cocite.systems.hatten.encoder import HattenEncoder, load_hatten_encoder, save_hatten
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.queries import manuscript_queries


@pytest.fixture
def reader(history: History) -> ParagraphReader:
    return ParagraphReader.build(history, ParagraphSettings(vocabulary_size=400), bodies=False)


@pytest.fixture
def folder(tmp_path: Path, reader: ParagraphReader) -> Path:
    save_hatten(tmp_path / "model" / "hatten", small_hatten(reader.size), reader, {"note": "untrained"})
    return tmp_path / "model"


def loaded(folder: Path) -> HattenEncoder:
    return load_hatten_encoder(folder, dtype=torch.float32)


def test_what_is_loaded_gives_nearly_what_was_saved(
    folder: Path, reader: ParagraphReader, corpus: Corpus
) -> None:
    encoder = loaded(folder)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.dimension) == ("hatten", 12)
    rows = np.arange(40, dtype=np.int32)
    before = HattenEncoder(small_hatten(reader.size), reader, "", dtype=torch.float32)
    vectors = encoder.encode_papers(corpus, rows)
    assert np.abs(vectors - before.encode_papers(corpus, rows)).max() < 2e-3  # word vectors in half precision
    assert np.array_equal(vectors, loaded(folder / "hatten").encode_papers(corpus, rows))
    assert loaded(folder).id == encoder.id != ""


def test_queries_are_embedded_with_a_context_and_without(folder: Path, corpus: Corpus) -> None:
    encoder = loaded(folder)
    whole = manuscript_queries(corpus, np.arange(5))
    local = [
        Query(q.id, context="an early TARGETCIT " + q.title, title=q.title, abstract=q.abstract)
        for q in whole
    ]
    vectors = encoder.encode_queries([*whole, *local, Query("none")])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.abs(vectors[:5] - vectors[5:10]).max() > 1e-2
    assert vectors[7] == pytest.approx(encoder.encode_queries([local[2]])[0], abs=1e-5)
    assert encoder.encode_queries([]).shape == (0, 12)


def test_papers_are_the_same_in_any_order_and_number(folder: Path, corpus: Corpus) -> None:
    encoder = loaded(folder)
    rows = np.random.default_rng(0).permutation(len(corpus)).astype(np.int32)
    vectors = encoder.encode_papers(corpus, rows)
    assert vectors[17] == pytest.approx(encoder.encode_papers(corpus, rows[17:18])[0], abs=1e-5)
    assert encoder.encode_papers(corpus, rows[:0]).shape == (0, 12)


def test_half_precision_changes_little(folder: Path, corpus: Corpus) -> None:
    rows = np.arange(30, dtype=np.int32)
    half = load_hatten_encoder(folder, dtype=torch.bfloat16).encode_papers(corpus, rows)
    assert (half * loaded(folder).encode_papers(corpus, rows)).sum(1).min() > 0.999


def test_papers_are_computed_by_a_budget_of_words(
    folder: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, rows, words = loaded(folder), np.arange(60, dtype=np.int32), list[int]()
    whole = encoder.encode_papers(corpus, rows)
    monkeypatch.setattr(module, "TOKENS", 200)
    encoder.model.register_forward_pre_hook(lambda _, given: words.append(len(given[0].tokens)))
    assert encoder.encode_papers(corpus, rows) == pytest.approx(whole, abs=1e-5)
    assert len(words) > 3
    assert max(words) <= 200


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU computes queries in half precision, too")
def test_queries_on_a_cpu_are_computed_in_full_precision(folder: Path) -> None:
    queries = [Query("q", title="Parsing", abstract="trees of words", context="as [CIT] showed")]
    half = load_hatten_encoder(folder, dtype=torch.bfloat16)
    assert np.array_equal(half.encode_queries(queries), loaded(folder).encode_queries(queries))


def test_weights_of_another_vocabulary_are_refused(folder: Path) -> None:
    path = folder / "hatten" / "words.txt"
    path.write_text(path.read_text() + "extra\t1\n")
    seal(path.parent, kind="hatten", meta={})
    with pytest.raises(IntegrityError, match="does not fit config and vocabulary"):
        load_hatten_encoder(folder)

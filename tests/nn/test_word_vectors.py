from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.nn.word_vectors import WordVectorSettings, known_vectors, mixed_vectors
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import SPECIAL

D = 8


@pytest.fixture(scope="module")
def bodies(synthetic: SyntheticCorpora) -> Corpus:
    """A corpus whose papers have body sentences."""
    return synthetic(200, seed=2, sentences=True)


@pytest.fixture(scope="module")
def history(bodies: Corpus) -> History:
    return History.until(bodies, 2012)


@pytest.fixture(scope="module")
def reader(history: History) -> ParagraphReader:
    return ParagraphReader.build(history, ParagraphSettings(vocabulary_size=300), bodies=True)


def start(reader: ParagraphReader, history: History, **settings: Any) -> np.ndarray:
    known = known_vectors(WordVectorSettings.parse(settings), history, reader, D)
    return mixed_vectors(reader, D, known)


def test_vectors_of_a_file_are_those_of_its_words(
    reader: ParagraphReader, history: History, tmp_path: Path
) -> None:
    known = [reader.vocabulary.types[i] for i in (5, 0, 17)]
    numbers = np.random.default_rng(0).normal(size=(3, D)).astype(np.float32) * 7
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(known, numbers, strict=True)]
    path = tmp_path / "vectors.txt"
    path.write_text(
        "\n".join([f"4 {D}", *lines, f"never-seen {' '.join(['1'] * D)}"]) + "\n", encoding="utf-8"
    )
    found = start(reader, history, source="file", path=str(path))
    assert found.shape == (reader.size, D)
    assert found[[SPECIAL + 5, SPECIAL, SPECIAL + 17]] == pytest.approx(numbers / numbers.std(), rel=1e-5)
    rest = np.delete(found, [SPECIAL + 5, SPECIAL, SPECIAL + 17], axis=0)
    assert rest.std() == pytest.approx(1, abs=0.1)
    assert len(np.unique(rest[:, 0])) == len(rest)
    known_of_file = known_vectors(WordVectorSettings(source="file", path=str(path)), history, reader, D)
    found = mixed_vectors(reader, D, known_of_file, rescaled=False)
    assert found[[SPECIAL + 5, SPECIAL, SPECIAL + 17]] == pytest.approx(
        numbers, rel=1e-5
    )  # as the file has them
    rest = np.delete(found, [SPECIAL + 5, SPECIAL, SPECIAL + 17], axis=0)
    assert rest.std() == pytest.approx(numbers.std(), rel=0.1)


def test_vectors_trained_on_the_corpus_are_those_of_its_words(
    reader: ParagraphReader, history: History
) -> None:
    pytest.importorskip("gensim")
    has_vector, vectors = known_vectors(WordVectorSettings(epochs=1), history, reader, D)
    assert vectors.shape == (len(reader.vocabulary), D)
    assert has_vector.mean() > 0.5
    assert not vectors[~has_vector].any()
    mixed = mixed_vectors(reader, D, (has_vector, vectors))
    assert np.isfinite(mixed).all()
    assert mixed[SPECIAL:].std() == pytest.approx(1, abs=0.1)
    assert np.array_equal(mixed[:SPECIAL], mixed_vectors(reader, D, None)[:SPECIAL])


def test_only_papers_of_the_training_period_are_read(bodies: Corpus) -> None:
    early, late = (
        ParagraphReader.build(History.until(bodies, year), ParagraphSettings(), bodies=True)
        for year in (2000, 2019)
    )
    assert set(early.vocabulary.types) < set(late.vocabulary.types)
    assert early.vocabulary.counts.sum() < late.vocabulary.counts.sum()


def test_a_corpus_without_bodies_is_refused(synthetic: SyntheticCorpora) -> None:
    pytest.importorskip("gensim")
    corpus = synthetic(60, seed=2)
    history = History.all(corpus)
    reader = ParagraphReader.build(history, ParagraphSettings(), bodies=True)
    with pytest.raises(InputError, match="body sentences"):
        start(reader, history)


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="go together"):
        WordVectorSettings(source="file")
    with pytest.raises(ValueError, match="go together"):
        WordVectorSettings(path="vectors.txt")

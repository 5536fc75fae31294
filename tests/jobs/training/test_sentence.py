from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.tiny_bert import tiny_bert

from cocite.artifacts import verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe
from cocite_jobs.training import sentence
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.train import train


@pytest.fixture(scope="module")
def recipe(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> SentenceRecipe:
    words = {word for title in corpus.papers.table["title"].to_pylist() for word in title.lower().split()}
    return SentenceRecipe(encoder=str(tiny_bert(tmp_path_factory.mktemp("b") / "bert", words)), max_tokens=64)


def test_an_encoder_is_copied_and_described(corpus: Corpus, recipe: SentenceRecipe, tmp_path: Path) -> None:
    stages: list[str] = []
    functions = ProgressFunctions(stage=lambda description, _: stages.append(description))
    recipe = recipe.model_copy(
        update={"precision": "float32"}
    )  # by itself it takes what is fastest on the machine
    trained = train(recipe, corpus, tmp_path, functions)
    assert trained.folder == tmp_path / "sentence"
    assert verify(trained.folder).meta["recipe"] == recipe.model_dump(mode="json")
    assert (trained.metrics, trained.details["dimension"], trained.details["precision"]) == (
        {},
        32,
        "float32",
    )
    assert stages == ["copying the encoder", "looking at vectors"]
    vectors = load_sentence_encoder(trained.folder).encode_papers(corpus, np.arange(5, dtype=np.int32))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


def test_an_encoder_whose_vectors_are_not_finite_is_refused(
    corpus: Corpus, recipe: SentenceRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def encode_papers(self, corpus: Corpus, rows: np.ndarray) -> np.ndarray:
            assert len(rows) == min(len(corpus), sentence.CHECKED_PAPERS)
            return np.full((len(rows), 4), np.nan, np.float32)

    monkeypatch.setattr(sentence, "load_sentence_encoder", lambda _: Broken())
    with pytest.raises(InputError, match=r"bert: its vectors are not numbers"):
        train(recipe, corpus, tmp_path)

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from cocite.artifacts import seal
from cocite.errors import IntegrityError
from cocite.systems.citing_sentences.classifier import KIND, CitingSentenceClassifier, ClassifierSettings
from cocite.systems.citing_sentences.features import sentences_of

SETTINGS = ClassifierSettings(features=("words", "position"), width=512, threshold=0.3)


@pytest.fixture
def classifier() -> CitingSentenceClassifier:
    weights = np.random.default_rng(0).normal(size=512).astype(np.float32)
    return CitingSentenceClassifier(SETTINGS, weights, -1.5)


def test_it_is_saved_and_loaded(classifier: CitingSentenceClassifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / KIND, {"corpus": "c"})
    classifier.save(tmp_path / KIND, {"corpus": "d"})
    loaded = CitingSentenceClassifier.load(tmp_path / KIND)
    papers = [
        sentences_of(["We parse all of the treebank.", "Others do so with trees as well."], ["", "Data"])
    ]
    np.testing.assert_array_equal(loaded.probabilities(papers), classifier.probabilities(papers))
    assert loaded.settings == SETTINGS
    assert sorted(path.name for path in (tmp_path / KIND).iterdir()) == [
        "classifier.json",
        "manifest.json",
        "weights.safetensors",
    ]


def test_probabilities_are_those_of_a_logistic_regression(classifier: CitingSentenceClassifier) -> None:
    papers = [sentences_of(["We parse all of the treebank."], [""])]
    [probability] = classifier.probabilities(papers)
    assert 0 < probability < 1
    higher = CitingSentenceClassifier(SETTINGS, classifier.weights, 0.0).probabilities(papers)[0]
    odds = [p / (1 - p) for p in (probability, higher)]
    assert np.log(odds[1] / odds[0]) == pytest.approx(1.5)
    assert CitingSentenceClassifier(SETTINGS, classifier.weights, -1e9).probabilities(papers)[0] < 1e-9


def test_what_does_not_fit_is_refused(classifier: CitingSentenceClassifier, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"weights of \(256,\) where the width is 512"):
        CitingSentenceClassifier(SETTINGS, np.zeros(256, np.float32), 0.0)
    folder = tmp_path / KIND
    classifier.save(folder, {})
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(IntegrityError, match=r"weights\.safetensors: damaged"):
        CitingSentenceClassifier.load(folder)
    for content in ({"weights": np.zeros(256, np.float32), "intercept": np.zeros(1)}, {"other": np.zeros(1)}):
        save_file(content, weights)
        seal(folder, kind=KIND, meta={})
        with pytest.raises(IntegrityError, match=r"does not fit its settings: .*train it again"):
            CitingSentenceClassifier.load(folder)
    for content in ({"weights": np.full(512, np.nan, np.float32), "intercept": np.zeros(1)},):
        save_file(content, weights)
        seal(folder, kind=KIND, meta={})
        with pytest.raises(IntegrityError, match="citing-sentences"):
            CitingSentenceClassifier.load(folder).probabilities(
                [sentences_of(["We parse all of it now."], [""])]
            )
    assert json.loads((folder / "classifier.json").read_text())["width"] == 512

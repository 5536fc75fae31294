from __future__ import annotations

from pathlib import Path

import pytest
from helpers.citing_papers import citing_corpus
from helpers.records import make, tiny

from cocite.artifacts import verify
from cocite.errors import InputError
from cocite.pipeline import components
from cocite.systems.citing_sentences.classifier import CitingSentenceClassifier
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train


def test_a_classifier_is_trained_measured_and_is_a_component(tmp_path: Path) -> None:
    corpus = citing_corpus(tmp_path / "corpus")
    stages: list[str] = []
    functions = ProgressFunctions(stage=lambda description, _: stages.append(description))
    recipe = load_recipe("citing-sentences", ["width=4096"])
    trained = train(recipe, corpus, tmp_path / "model", functions)
    assert trained.folder == tmp_path / "model" / "citing-sentences"
    assert stages[-1] == "weights"
    assert trained.metrics["F1"] == trained.details["test F1"] == 1
    assert trained.details["test F1 of always yes"] == pytest.approx(2 / 3, abs=1e-4)
    manifest = verify(trained.folder)
    assert manifest.meta["recipe"] == recipe.model_dump(mode="json")
    assert components.list_components(tmp_path / "model") == ["citing-sentences"]
    classifier = CitingSentenceClassifier.load(trained.folder)
    assert classifier.settings.threshold == pytest.approx(float(str(trained.details["threshold"])), abs=1e-4)


def test_sentences_that_lack_a_word_are_learned_from_and_measured_only_where_asked(tmp_path: Path) -> None:
    corpus = citing_corpus(tmp_path / "corpus", incomplete=True)
    without = train(load_recipe("citing-sentences", ["width=4096"]), corpus, tmp_path / "without")
    with_them = train(
        load_recipe("citing-sentences", ["width=4096", "incomplete=true"]), corpus, tmp_path / "with"
    )
    assert without.details["train sentences"] == "60, 40.0% cite"
    assert with_them.details["train sentences"] == "72, 50.0% cite"
    assert without.details["test F1"] == without.details["incomplete sentences too: test F1"] == 1
    assert with_them.details["test F1"] == with_them.details["complete sentences alone: test F1"] == 1
    weights = [CitingSentenceClassifier.load(made.folder).weights for made in (without, with_them)]
    assert (weights[0] != weights[1]).any()


def test_a_corpus_without_a_test_split_or_without_bodies(tmp_path: Path) -> None:
    from cocite.corpus.splits import Split, with_split

    whole = citing_corpus(tmp_path / "corpus")
    names = Split.of(whole)
    corpus = with_split(whole, names.without(names.test), tmp_path / "two")
    recipe = load_recipe("citing-sentences", ["width=4096", "negatives=1"])
    trained = train(recipe, corpus, tmp_path / "model")
    assert "test F1" not in trained.details
    assert "no paper belongs to the test split" in str(trained.details["test left out"])
    bare = make(tmp_path / "bare", tiny(), split=lambda _: "train")
    with pytest.raises(InputError, match="no body sentences of which some cite"):
        train(recipe, bare, tmp_path / "other")
    assert not (tmp_path / "other" / "citing-sentences").exists()

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.citing_papers import citing_corpus
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from cocite.systems.citing_sentences.examples import read_examples
from cocite.systems.citing_sentences.features import vectors
from cocite.systems.citing_sentences.recipe import CitingSentencesRecipe
from cocite.systems.citing_sentences.task import best_threshold, measure, sample_negatives, train_classifier

SCORED = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40)


def test_it_learns_what_citing_sentences_say(tmp_path: Path) -> None:
    corpus = citing_corpus(tmp_path / "corpus")
    recipe = CitingSentencesRecipe(width=2**12, features=("words",))
    train, test = (read_examples(corpus, split, 100, seed=0) for split in ("train", "test"))
    made = vectors(train.papers, recipe.features, recipe.width)
    classifier = train_classifier(made, train.cites, recipe)
    assert measure(classifier.probabilities(test.papers), test.cites, 0.5)["F1"] == 1
    again = train_classifier(made, train.cites, recipe)
    np.testing.assert_array_equal(again.weights, classifier.weights)


@given(SCORED)
def test_measures_are_those_of_scikit_learn_and_the_threshold_is_the_best(
    scored: list[tuple[int, bool]],
) -> None:
    probabilities = np.array([score / 8 for score, _ in scored])
    cites = np.array([cites for _, cites in scored])
    cites[0] = True
    threshold = best_threshold(probabilities, cites)
    measured = measure(probabilities, cites, threshold)
    yes = probabilities >= threshold
    assert measured["F1"] == pytest.approx(f1_score(cites, yes))
    assert measured["P"] == pytest.approx(precision_score(cites, yes, zero_division=0))
    assert measured["R"] == pytest.approx(recall_score(cites, yes))
    every = [f1_score(cites, probabilities >= one) for one in np.unique(probabilities)]
    assert measured["F1"] == pytest.approx(max(every))
    cuts = [probabilities >= one for one in np.unique(probabilities)]
    halves = [precision_score(cites, cut) for cut in cuts if recall_score(cites, cut) >= 0.5]
    assert measured["P at R .5"] == pytest.approx(max(halves))


def test_negatives_are_drawn_and_all_positives_kept() -> None:
    cites = np.arange(100) % 10 == 0
    kept = sample_negatives(cites, 2, seed=0)
    assert (cites[kept].sum(), len(kept)) == (10, 30)
    assert (np.diff(kept) > 0).all()
    assert len(sample_negatives(cites, 0, seed=0)) == len(sample_negatives(cites, 50, seed=0)) == 100

"""The sentence of a promotion."""

from __future__ import annotations

import numpy as np
import pytest

from cocite.evaluation.significance import compare
from cocite_tuning.sweep.promotion import PromotionResult

BETTER = compare(np.array([0.5, 0.75, 0.25, 0.5]), np.array([0.25, 0.25, 0.0, 0.5]))


def test_an_alias_without_a_holder_is_taken_without_comparison() -> None:
    result = PromotionResult("ours", "champion", True, 1, None)
    assert result.sentence() == "ours@champion is version 1 now; there was none before it"


def test_the_sentence_names_the_papers_that_the_test_is_over() -> None:
    grouped = compare(np.array([0.5, 0.75, 0.25]), np.array([0.25, 0.25, 0.0]), np.array([7, 7, 8]))
    sentence = PromotionResult("ours", "champion", True, 2, grouped).sentence()
    assert " on 3 dev queries of 2 citing papers, p = " in sentence


def test_a_model_that_could_not_be_compared_leaves_the_alias_where_it_is() -> None:
    result = PromotionResult("ours", "champion", False, 2, None, "a paired test needs two papers")
    assert result.sentence() == (
        "ours@champion stays version 2, with which the best trial was not compared: a paired test needs two papers"
    )


@pytest.mark.parametrize(
    ("won", "start"),
    [(True, "ours@champion is version 2 now: "), (False, "ours@champion stays version 2: ")],
)
def test_a_comparison_is_given_with_its_figures(won: bool, start: str) -> None:
    sentence = PromotionResult("ours", "champion", won, 2, BETTER).sentence()
    assert sentence == f"{start}0.5000 against 0.2500 on 4 dev queries, p = {BETTER.p:.2g}"

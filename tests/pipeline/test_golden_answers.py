"""How answers to golden queries are judged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.pipeline.golden_answers import (
    BEST,
    GoldenAnswer,
    GoldenError,
    check_sound,
    correlations,
    overlap,
)

IDS = tuple(f"p{number}" for number in range(20))


def answer(*ids: str, **stages: tuple[float, ...]) -> GoldenAnswer:
    return GoldenAnswer(ids, tuple(-float(i) for i in range(len(ids))), stages)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ((1.0, float("nan")), "q: scores of the answer are not finite"),
        ((float("inf"), 1.0), "q: scores of the answer are not finite"),
        ((2.0, 2.0, 2.0), "all scores of an answer are equal, whatever is asked"),
        ((), "no golden query was answered with a paper"),
    ],
)
def test_answers_of_no_sound_model(scores: tuple[float, ...], sentence: str) -> None:
    with pytest.raises(GoldenError, match=sentence):
        check_sound({"q": GoldenAnswer(IDS[: len(scores)], scores)})


def test_one_paper_and_a_query_without_an_answer_are_sound() -> None:
    check_sound({"q": answer("a"), "r": answer()})


def test_papers_that_are_alike_are_sound_where_others_differ() -> None:
    alike = GoldenAnswer(IDS[:3], (2.0, 2.0, 2.0))
    check_sound({"q": alike, "r": answer(*IDS[:3])})
    check_sound({"q": GoldenAnswer(IDS[:2], (2.0, 2.0))})


def test_a_paper_that_the_new_index_does_not_have_is_not_missed() -> None:
    expected = {"q": answer("a", "b", "c", "d")}
    found = {"q": answer("b", "x", "a")}
    assert overlap(expected, found, known={"a", "b", "c", "x"}) == pytest.approx(2 / 3)
    assert overlap(expected, found, known={"x"}) is None
    assert overlap(expected, {"q": answer(*IDS[:BEST], "a")}, known={"a", *IDS}) == 0, "behind the best"


@given(st.permutations(IDS), st.permutations(IDS))
def test_the_overlap_is_a_share_and_that_with_itself_is_whole(one: list[str], two: list[str]) -> None:
    first, second = {"q": answer(*one)}, {"q": answer(*two)}
    share = overlap(first, second, IDS)
    assert share is not None
    assert 0 <= share <= 1
    assert share == overlap(second, first, IDS)
    assert overlap(first, first, IDS) == 1


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10), st.floats(-5, 5))
def test_scores_of_another_scale_correlate_and_those_of_another_model_do_not(
    seed: int, scale: float, shift: float
) -> None:
    scores = np.random.default_rng(seed).normal(size=BEST)

    def of(values: np.ndarray) -> dict[str, GoldenAnswer]:
        return {"q": answer(*IDS[:BEST], nnrank=tuple(values.tolist()))}

    assert correlations(of(scores), of(scale * scores + shift))["nnrank"] == pytest.approx(1)
    assert correlations(of(scores), of(-scores))["nnrank"] == pytest.approx(-1)
    assert correlations(of(scores), of(np.zeros(BEST)))["nnrank"] == 0
    assert correlations(of(np.zeros(BEST)), of(scores)) == {}, "there is nothing to compare with"


def test_too_few_scores_say_nothing() -> None:
    scores = tuple(float(i) for i in range(BEST))
    expected = {"q": answer(*IDS[:BEST], nnrank=scores)}
    missing = (*scores[:-1], float("nan"))
    assert correlations(expected, {"q": answer(*IDS[:BEST], nnrank=missing)}) == {}
    assert correlations(expected, {"q": answer(*IDS[:BEST])}) == {}


def test_a_difference_between_queries_is_none_between_papers() -> None:
    """Both give the longer query higher scores, and order its papers in opposite ways."""
    rising = tuple(float(i) for i in range(BEST))
    falling = rising[::-1]
    high = tuple(100 + score for score in rising)
    one = {"q": answer(*IDS[:BEST], s=rising), "r": answer(*IDS[:BEST], s=high)}
    two = {
        "q": answer(*IDS[:BEST], s=falling),
        "r": answer(*IDS[:BEST], s=tuple(100 + score for score in falling)),
    }
    assert correlations(one, two)["s"] == pytest.approx(-1)

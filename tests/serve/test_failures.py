from __future__ import annotations

import copy

import pytest
from ray.exceptions import RayTaskError

from cocite.errors import IntegrityError
from cocite_serve.failures import StageFailedError, describe

WORDS = "an unpublished manuscript"


def raise_it() -> None:
    raise KeyError(WORDS)


def caught(error: type[Exception] = Exception) -> BaseException:
    try:
        try:
            raise_it()
        except KeyError as first:
            raise ValueError(WORDS) from first
    except ValueError as second:
        return second


def test_places_and_classes_are_told_and_words_are_not() -> None:
    lines = describe(caught())
    assert lines[0] == "ValueError"
    assert "KeyError" in lines
    assert any(line.endswith("in raise_it") and "test_failures.py:" in line for line in lines)
    assert WORDS not in "\n".join(lines)


def test_the_places_in_another_process_are_told_too() -> None:
    remote = RayTaskError(
        "rerank", f'ray::rerank()\n  File "/x/rank.py", line 3, in rank\n    f({WORDS!r})\n', KeyError(WORDS)
    )
    assert describe(remote) == ["RayTaskError", "/x/rank.py:3 in rank"]


def test_cocites_own_words_are_told() -> None:
    assert describe(IntegrityError("it is damaged", where="index/ids.npy")) == [
        "IntegrityError: index/ids.npy: it is damaged"
    ]


def test_a_circle_of_causes_ends() -> None:
    one, two = KeyError(), ValueError()
    one.__cause__, two.__cause__ = two, one
    assert describe(one) == ["KeyError", "ValueError"]


def test_a_stages_failure_goes_from_process_to_process() -> None:
    error = copy.copy(StageFailedError("reranker", describe(caught())))
    assert (error.stage, error.lines) == ("reranker", describe(caught()))
    with pytest.raises(StageFailedError, match="the reranker failed: ValueError"):
        raise error

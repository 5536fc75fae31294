from __future__ import annotations

import copy

import pytest

from cocite.errors import InputError
from cocite_serve.failures import StageFailedError
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.replicas.refusals import FullError, refusals
from cocite_serve.replicas.steps import RefusedError


def test_a_refusal_says_when_to_come_again() -> None:
    with (
        pytest.raises(OverloadedError, match="the reranker refused a request: it would wait 3.0 s") as caught,
        refusals("reranker"),
    ):
        raise RefusedError(wait_s=3.0, retry_s=1.5)
    assert caught.value.retry_s == 1.5


def test_a_full_replica_names_itself_also_to_another_process() -> None:
    with pytest.raises(FullError, match="it would wait 3.0 s") as caught, refusals("reranker", "5f0c"):
        raise RefusedError(wait_s=3.0, retry_s=1.5, full=True)
    with pytest.raises(OverloadedError, match="it would wait 3.0 s") as other, refusals("reranker", "5f0c"):
        raise RefusedError(wait_s=3.0, retry_s=1.5)
    assert not isinstance(other.value, FullError), "with a later deadline it would be taken in"
    again = copy.copy(caught.value)  # as pickle copies it
    assert (str(again), again.retry_s, again.replica) == (str(caught.value), 1.5, "5f0c")


@pytest.mark.parametrize(
    "error", [InputError("too long"), NotReadyError("not yet"), OverloadedError("busy"), TimeoutError("late")]
)
def test_the_apis_own_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)) as caught, refusals("retriever"):
        raise error
    assert caught.value is error


def test_a_defect_keeps_its_place_and_loses_its_words() -> None:
    with (
        pytest.raises(StageFailedError, match="the retriever failed: KeyError") as caught,
        refusals("retriever"),
    ):
        raise KeyError("the words of a draft")
    assert "draft" not in str(caught.value)
    assert "test_refusals.py" in str(caught.value)
    assert caught.value.__suppress_context__

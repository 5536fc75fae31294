"""The schemas of ``/v1/links``: what is no list of ids is refused, and pairs are described as such."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cocite_serve.http.link_schemas import CocitationOut, LinksRequest


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "Field required"),
        ({"ids": []}, "at least 1 item"),
        ({"ids": "P02-1040"}, "valid list"),
        ({"ids": [7]}, "valid string"),
        ({"ids": ["a"], "id": "b"}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_no_list_of_ids_is_refused(value: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        LinksRequest.model_validate(value)


def test_a_pair_that_no_paper_cites_is_none() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        CocitationOut(first="a", second="b", papers=0)

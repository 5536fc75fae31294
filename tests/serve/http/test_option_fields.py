"""The options that requests of one text and of a draft share."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cocite_serve.http.draft_schemas import DraftRequest
from cocite_serve.http.option_fields import RecommendOptions
from cocite_serve.http.schemas import RecommendRequest


def test_both_requests_have_all_options() -> None:
    options = RecommendOptions.model_fields.keys()
    assert options <= RecommendRequest.model_fields.keys()
    assert options <= DraftRequest.model_fields.keys()
    assert "page" not in options


def test_k_is_another_name_of_depth() -> None:
    files = [{"name": "a.txt", "text": "We."}]
    assert (
        RecommendOptions(K=7).depth
        == RecommendRequest(K=7).depth
        == DraftRequest(files=files, K=7).depth
        == 7
    )
    with pytest.raises(ValidationError, match="another name of depth"):
        DraftRequest(files=files, K=7, depth=8)

"""``HEAD`` has the status and the headers of ``GET``, and no body."""

from __future__ import annotations

import pytest
from helpers.api_backend import InProcess, client


@pytest.mark.parametrize(
    "path", ["/v1/health", "/v1/version", "/", "/docs", "/openapi.json", "/v1/papers/none", "/info"]
)
def test_head_on_every_path_that_has_get(reader: InProcess, path: str) -> None:
    served = client(reader)
    same = {"X-Request-ID": "5f0c"}
    got, head = served.get(path, headers=same), served.head(path, headers=same)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


def test_head_is_not_possible_where_get_is_not(backend: InProcess) -> None:
    answer = client(backend).head("/v1/recommend")
    assert (answer.status_code, answer.content) == (405, b"")

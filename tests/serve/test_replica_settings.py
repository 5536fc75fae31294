"""Numbers of replicas."""

from __future__ import annotations

import pytest

from cocite.errors import ConfigError
from cocite_serve.settings import ServeSettings


@pytest.mark.parametrize("part", ["gateway", "retriever", "reranker", "shards"])
def test_a_part_has_no_fewer_replicas_at_most_than_at_least(part: str) -> None:
    def parsed(**given: int) -> ServeSettings:
        return ServeSettings.parse({"index": "index", part: given}, where="cocite serve")

    assert [getattr(parsed(**given), part).most for given in ({}, {"replicas": 3}, {"max_replicas": 4})] == [
        1,
        3,
        4,
    ]
    with pytest.raises(ConfigError, match=rf"{part}: max_replicas is 2, below replicas, 3$"):
        parsed(replicas=3, max_replicas=2)

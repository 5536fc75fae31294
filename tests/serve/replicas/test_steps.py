from __future__ import annotations

import pytest

from cocite_serve.replicas.steps import RefusedError


def test_a_refusal_says_how_long_the_wait_would_be() -> None:
    error = RefusedError(wait_s=12.34, retry_s=2.5)
    assert (error.wait_s, error.retry_s) == (12.34, 2.5)
    with pytest.raises(RefusedError, match=r"^it would wait 12\.3 s for others$"):
        raise error

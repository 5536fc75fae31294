"""What a gateway sees of a stage that does not answer: the API's own errors, and no text of a draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cocite.errors import CociteError
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.failures import StageFailedError, describe
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.replicas.steps import RefusedError


@contextmanager
def refusals(deployment: str) -> Iterator[None]:
    """Raise a scheduler's refusal as the API's, and a defect without its words, which Ray's log would keep.

    Args:
        deployment: what refuses, for the error.

    Raises:
        OverloadedError: the scheduler refused a request.
        StageFailedError: there was a defect.

    Example:
        >>> with refusals("reranker"):
        ...     raise RefusedError(wait_s=12.0, retry_s=2.0)
        Traceback (most recent call last):
        ...
        cocite_serve.http.problems.OverloadedError: the reranker refused a request: it would wait 12.0 s for others
    """
    try:
        yield
    except RefusedError as error:
        raise OverloadedError(f"the {deployment} refused a request: {error}", error.retry_s) from error
    except (CociteError, OverloadedError, NotReadyError, ShardsUnavailableError, TimeoutError):
        raise
    except Exception as error:
        raise StageFailedError(deployment, describe(error)) from None

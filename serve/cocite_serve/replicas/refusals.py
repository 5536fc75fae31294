"""What a gateway sees of a stage that does not answer: the API's own errors, and no text of a draft."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cocite.errors import CociteError
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.failures import StageFailedError, describe
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.replicas.steps import RefusedError


class FullError(OverloadedError):
    """A replica takes in no request of this size for so long as ``retry_s`` says, whatever its deadline is.

    Attributes:
        replica: its name.

    Example:
        >>> FullError("the reranker refused a request", retry_s=2.5, replica="5f0c").replica
        '5f0c'
    """

    def __init__(self, message: str, retry_s: float, replica: str) -> None:
        super().__init__(message, retry_s)
        self.replica = replica

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.retry_s, self.replica)


@contextmanager
def refusals(deployment: str, replica: str = "") -> Iterator[None]:
    """Raise a scheduler's refusal as the API's, and a defect without its words, which Ray's log would keep.

    Args:
        deployment: what refuses, for the error.
        replica: the name of this one, where the caller wants to know.

    Raises:
        FullError: the scheduler refused a request, and would refuse any of its size.
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
        message = f"the {deployment} refused a request: {error}"
        if replica and error.full:
            raise FullError(message, error.retry_s, replica) from error
        raise OverloadedError(message, error.retry_s) from error
    except (CociteError, OverloadedError, NotReadyError, ShardsUnavailableError, TimeoutError):
        raise
    except Exception as error:
        raise StageFailedError(deployment, describe(error)) from None

"""Errors of calls between replicas, as the API knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

from cocite_serve.http.problems import NotReadyError, OverloadedError


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise Ray's errors as the API's: what a stage raised itself, too many waiting, no replica."""
    try:
        yield
    except BackPressureError as error:
        raise OverloadedError(str(error)) from error
    except DeploymentUnavailableError as error:
        raise NotReadyError("a stage failed to start; the server's log says why") from error
    except RayTaskError as error:
        # A stage's own error arrives as a class made of RayTaskError and the original one.
        raise error.cause from error
    except RayActorError as error:
        raise NotReadyError("a stage's process ended while it worked on this request; try again") from error

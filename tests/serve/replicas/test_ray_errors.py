"""Errors of calls between replicas, as clients see them."""

from __future__ import annotations

import pytest
from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError

from cocite.errors import InputError
from cocite_serve.http.problems import NotReadyError, OverloadedError
from cocite_serve.replicas.ray_errors import translate_errors


@pytest.mark.parametrize(
    ("error", "expected", "sentence"),
    [
        (BackPressureError(3, 2), OverloadedError, "num_queued_requests=3"),
        (
            DeploymentUnavailableError(None),
            NotReadyError,
            "a stage failed to start; the server's log says why",
        ),
        (
            RayActorError(),
            NotReadyError,
            "a stage's process ended while it worked on this request; try again",
        ),
        (RayTaskError("retrieve", "", InputError("no such year")), InputError, "no such year"),
        (RayTaskError("rerank", "", NotReadyError("another version")), NotReadyError, "another version"),
        (KeyError("a defect"), KeyError, "a defect"),
    ],
)
def test_rays_errors_become_the_apis(error: Exception, expected: type[Exception], sentence: str) -> None:
    with pytest.raises(expected, match=sentence), translate_errors():
        raise error

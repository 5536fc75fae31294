"""Settings of replicas: how many there are of each part of the endpoint, and how many of the gateway."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from cocite.bounds import Cores, PositiveSmallCount
from cocite.config import Settings

Requests = Annotated[int, Field(ge=1, le=1_000_000)]
"""Requests that wait, or are worked on, at a time."""


class ReplicaSettings(Settings):
    """How many processes there are of one part of the endpoint.

    Example:
        >>> ReplicaSettings(replicas=2, max_replicas=4).most, ReplicaSettings(replicas=2).most
        (4, 2)
        >>> ReplicaSettings.parse({"replicas": 2, "max_replicas": 1}, where="gateway")
        Traceback (most recent call last):
        ...
        cocite.errors.ConfigError: gateway: max_replicas is 1, below replicas, 2
    """

    replicas: PositiveSmallCount = 1
    """Processes, each with its own object."""
    max_replicas: PositiveSmallCount | None = None
    """With more than ``replicas``, Ray Serve adds processes while requests wait, up to this many."""

    @property
    def most(self) -> int:
        """How many processes there may be."""
        return self.max_replicas or self.replicas

    @model_validator(mode="after")
    def _most_is_no_less(self) -> Self:
        if self.most < self.replicas:
            raise ValueError(f"max_replicas is {self.most}, below replicas, {self.replicas}")
        return self


class GatewaySettings(ReplicaSettings):
    """How the gateway is deployed: it checks requests and waits for the stages, and computes nothing itself.

    Example:
        Two gateways, and up to four while each has 50 requests under way:

        >>> GatewaySettings(replicas=2, max_replicas=4, target_requests=50).max_requests
        1024
    """

    target_requests: Requests = 32
    """With ``max_replicas``: requests under way in a gateway, above which one more is started."""
    max_requests: Requests = 1_024
    """Requests in one gateway at once, those that wait for a stage included; one more is answered 429."""
    num_cpus: Cores = 0.1
    """Cores that a gateway reserves with Ray."""

"""Settings of a second release beside the one that is served."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cocite.bounds import FilePath, Name, Seconds, Share
from cocite.config import Settings


class BesideSettings(Settings):
    """A second release, loaded beside the one that is served, and what it is asked.

    Example:
        >>> BesideSettings(model="models:/ranker@challenger", traffic="shadow").is_named
        True
        >>> BesideSettings.parse({"traffic": "split"}, where="beside")
        Traceback (most recent call last):
        ...
        cocite.errors.ConfigError: beside: traffic: there is no release: give beside.model or beside.index
    """

    model: FilePath | None = None
    """The model, as ``model`` of the endpoint; that one's when not given."""
    index: FilePath | None = None
    """The index folder; the endpoint's when not given."""
    index_version: Name | None = None
    """The snapshot; the current one when not given."""
    traffic: Literal["none", "shadow", "split", "interleave"] = "none"
    """Besides requests that name it: ``shadow``: a share of the requests, after their answer was sent, to compare;
    ``split``: the requests of a share of the clients; ``interleave``: a share of the requests, whose answer has papers
    of both by team draft."""
    share: Share = 0.1
    """Of the requests, or for ``split`` of the clients."""
    timeout_s: Seconds = 5.0
    """Seconds that it may take for a request that does not name it; then the served release answers alone."""
    at_once: Annotated[int, Field(ge=1, le=1_000)] = 8
    """Shadowed requests of a gateway at a time; one more is left out."""

    @property
    def is_named(self) -> bool:
        """Whether there is a second release."""
        return (self.model, self.index, self.index_version) != (None, None, None)

    @model_validator(mode="after")
    def _traffic_of_one(self) -> Self:
        if self.traffic != "none" and not self.is_named:
            raise ValueError("traffic: there is no release: give beside.model or beside.index")
        return self

"""What the endpoint's own process tells all gateways: which stages to call, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass

from cocite_serve.http.version_schemas import RefusedRelease


@dataclass(frozen=True)
class Directions:
    """What a gateway does from now on.

    Attributes:
        stages: application of the stages that answer.
        trial: application of the stages on trial; empty: there are none.
        share: of the requests that those get, from 0 to 1.
        timeout_s: seconds after which the others answer in their place.
        refused: newer releases that are not served.
        beside: application of the stages of a second release; empty: there is none.

    Example:
        >>> Directions("cocite-stages-1", trial="cocite-stages-2", share=0.1).trial
        'cocite-stages-2'
    """

    stages: str
    trial: str = ""
    share: float = 0.0
    timeout_s: float = 5.0
    refused: tuple[RefusedRelease, ...] = ()
    beside: str = ""


ANY_STAGES = Directions("")
"""Call the stages that are served, whichever they are."""

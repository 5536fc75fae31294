"""How rollouts ended, for Prometheus."""

from __future__ import annotations

from cocite_serve.metric_types import counter, gauge, name_in_prometheus


class Outcomes:
    """Metrics of the endpoint's own process.

    Example:
        >>> outcomes = Outcomes()
        >>> outcomes.count("refused")
        >>> outcomes.tell(refused=1)
        >>> outcomes.names()
        ['ray_cocite_rollouts_total', 'ray_cocite_refused_releases']
    """

    def __init__(self) -> None:
        self._rollouts = counter(
            "cocite_rollouts",
            description="Newer releases by what became of them: served, refused, or rolled_back from the canary.",
            tag_keys=("outcome",),
        )
        self._refused = gauge("cocite_refused_releases", description="Newer releases that are refused now.")

    def count(self, outcome: str) -> None:
        """Count one: ``served``, ``refused`` or ``rolled_back``."""
        self._rollouts.inc(tags={"outcome": outcome})

    def tell(self, refused: int) -> None:
        """How many releases are refused now. An alert reads this: a counter's first event is no increase."""
        self._refused.set(refused)

    def names(self) -> list[str]:
        """Names of the metrics, as Prometheus reads them."""
        return [
            name_in_prometheus("cocite_rollouts", counts=True),
            name_in_prometheus("cocite_refused_releases", counts=False),
        ]

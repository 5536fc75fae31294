"""What a gateway tells Prometheus of the served release and of the one beside it, while there is one."""

from __future__ import annotations

from cocite_serve.comparison.team_draft import Team
from cocite_serve.http.metrics import SECONDS
from cocite_serve.metric_types import counter, histogram

OVERLAPS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
"""Upper bounds of the buckets of overlaps: of ten papers, as many are shared."""


class ReleaseMetrics:
    """Requests, seconds and likeness of two releases; in a process without Ray the values go nowhere.

    Example:
        >>> metrics = ReleaseMetrics()
        >>> metrics.count("beside", "failed")
        >>> metrics.answered("served", 0.05)
        >>> metrics.compare(overlap=0.8)
    """

    def __init__(self) -> None:
        self._requests = counter(
            "cocite_release_requests",
            description="Requests that a release was asked, by what became of them: answered, failed, refused by its "
            "stages (overloaded, or they do not fit it), or skipped after failures in a row.",
            tag_keys=("release", "outcome"),
        )
        self._seconds = histogram(
            "cocite_release_seconds",
            description="Seconds of an answer of a release, in the gateway.",
            boundaries=SECONDS,
            tag_keys=("release",),
        )
        self._overlap = histogram(
            "cocite_shadow_overlap",
            description="Share of the served release's best ten papers that are the other's too, by shadowed request.",
            boundaries=OVERLAPS,
        )
        self._dropped = counter(
            "cocite_shadow_dropped",
            description="Requests of the shadowed share that were left out: too many.",
        )

    def count(self, release: Team, outcome: str) -> None:
        """Count a request that a release was asked."""
        self._requests.inc(tags={"release": release, "outcome": outcome})

    def answered(self, release: Team, seconds: float) -> None:
        """Count an answer, and the seconds that it took."""
        self.count(release, "answered")
        self._seconds.observe(seconds, tags={"release": release})

    def compare(self, overlap: float) -> None:
        """Take the likeness of two answers to one request, from 0 to 1."""
        self._overlap.observe(overlap)

    def drop(self) -> None:
        """Count a request that was to be shadowed, while too many were."""
        self._dropped.inc()

"""The one replica that counts clicks for all gateways, and how a gateway calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from cocite_serve.comparison.ledger import Comparison, Ledger, Pair
from cocite_serve.comparison.team_draft import TEAMS, Team
from cocite_serve.metric_types import counter, gauge
from cocite_serve.replicas.ray_errors import translate_errors

REPEAT_S = 5.0
"""Seconds after which the gauges are set again: Ray's metrics agent forgets one that is not."""


class ClickCounter:
    """A ledger as a deployment of Ray Serve. One replica; the counts begin anew when it is started anew.

    Example:
        >>> counter = ClickCounter()
        >>> asyncio.run(counter.comparisons())
        []
    """

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._answers = counter(
            "cocite_interleaved_answers", description="Answers with papers of two releases."
        )
        self._clicks = counter(
            "cocite_clicks",
            description="Papers of interleaved answers that were taken, by the release that gave them.",
            tag_keys=("release",),
        )
        self._outcomes = gauge(
            "cocite_comparison_answers",
            description="Answers with clicks of the latest comparison, by who won them: served, beside, or tie.",
            tag_keys=("outcome",),
        )
        self._p = gauge(
            "cocite_comparison_p_value", description="Of the sign test of the latest comparison, two-sided."
        )
        self._telling: asyncio.Task[None] | None = None

    async def check_health(self) -> None:
        """Return. Ray Serve asks on the loop that counts, and starts another counter where it is stuck."""

    async def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        """Note an interleaved answer."""
        self._ledger.register(token, pair, teams)
        self._answers.inc()
        if self._telling is None:
            self._telling = asyncio.create_task(self._repeat())

    async def credit(self, token: str, paper: str) -> Team | None:
        """Count a click; see :meth:`cocite_serve.comparison.ledger.Ledger.credit`."""
        team = self._ledger.credit(token, paper)
        if team is not None:
            self._clicks.inc(tags={"release": team})
        return team

    async def comparisons(self) -> list[Comparison]:
        """The comparisons, the latest first."""
        return self._ledger.comparisons()

    def tell(self) -> None:
        """Set the gauges to the latest comparison."""
        latest = self._ledger.comparisons()[0]
        for team in TEAMS:
            self._outcomes.set(latest.wins[team], tags={"outcome": team})
        self._outcomes.set(latest.ties, tags={"outcome": "tie"})
        self._p.set(latest.test().p)

    async def _repeat(self) -> None:
        while True:
            self.tell()
            await asyncio.sleep(REPEAT_S)


class RemoteClicks:
    """The counter as a gateway calls it.

    Args:
        handle: Ray Serve's, of :class:`ClickCounter`.

    Example:
        >>> RemoteClicks(handle=None).credit.__name__
        'credit'
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        """Note an interleaved answer."""
        with translate_errors():
            await self._handle.register.remote(token, pair, teams)

    async def credit(self, token: str, paper: str) -> Team | None:
        """Count a click."""
        with translate_errors():
            team: Team | None = await self._handle.credit.remote(token, paper)
        return team

    async def comparisons(self) -> list[Comparison]:
        """The comparisons, the latest first."""
        with translate_errors():
            found: list[Comparison] = await self._handle.comparisons.remote()
        return found

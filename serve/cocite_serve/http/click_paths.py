"""The paths ``/v1/click`` and ``/v1/comparison``: which release's papers readers take, where an answer has both.

A module that FastAPI reads must not postpone its annotations: no ``from __future__ import annotations`` here.
"""

from collections.abc import Mapping
from typing import Protocol

from fastapi import APIRouter

from cocite.errors import NotFoundError
from cocite_serve.comparison.ledger import Comparison, Pair
from cocite_serve.comparison.team_draft import Team
from cocite_serve.http.click_schemas import Click, Clicked, Comparisons, to_schema
from cocite_serve.http.openapi import refusals
from cocite_serve.http.request_context import current


class Clicks(Protocol):
    """Counts clicks on interleaved answers, for all gateways.

    Example:
        >>> import asyncio
        >>> class Nothing:
        ...     async def register(self, token, pair, teams): ...
        ...     async def credit(self, token, paper): return "beside"
        ...     async def comparisons(self): return []
        >>> clicks: Clicks = Nothing()
        >>> asyncio.run(clicks.comparisons())
        []
    """

    async def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        """See :meth:`cocite_serve.comparison.ledger.Ledger.register`."""
        ...

    async def credit(self, token: str, paper: str) -> Team | None:
        """See :meth:`cocite_serve.comparison.ledger.Ledger.credit`."""
        ...

    async def comparisons(self) -> list[Comparison]:
        """See :meth:`cocite_serve.comparison.ledger.Ledger.comparisons`."""
        ...


class NoClicks:
    """The counter of an endpoint that interleaves nothing.

    Example:
        >>> import asyncio
        >>> asyncio.run(NoClicks().comparisons())
        []
    """

    async def register(self, token: str, pair: Pair, teams: Mapping[str, Team | None]) -> None:
        """Nothing: there is no such answer."""

    async def credit(self, token: str, paper: str) -> Team | None:  # noqa: ARG002
        """Refuse the token: no answer has one."""
        raise NotFoundError("no answer of this endpoint is interleaved", where="token")

    async def comparisons(self) -> list[Comparison]:
        """None."""
        return []


def click_router(clicks: Clicks) -> APIRouter:
    """The two paths."""
    router = APIRouter(tags=["compare"])

    @router.post("/v1/click", summary="Tell that a recommended paper was taken", responses=refusals(404, 422))
    async def click(request: Click) -> Clicked:
        team = await clicks.credit(request.token, request.paper)
        if team is not None:
            current().facts["credited"] = team
        return Clicked(counted=team is not None)

    @router.get(
        "/v1/comparison",
        summary="Which of two releases do readers prefer?",
        responses=refusals(),
    )
    async def comparison() -> Comparisons:
        return Comparisons(comparisons=[to_schema(each) for each in await clicks.comparisons()])

    return router

"""Ray Serve's handles of stages, whose calls run in the test's process, and what a gateway asks by them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from cocite.protocols import Query
from cocite_serve.http.deadline import Deadline

QUERY = Query("q", title="Neural machine translation")


def soon() -> Deadline:
    return Deadline.after(60.0, partial=False)


class Handle:
    """Ray Serve's handle of a deployment, as far as a gateway uses it."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage

    def __getattr__(self, method: str) -> Any:
        # A call is under way as soon as it is made, and can be cancelled.
        return SimpleNamespace(remote=lambda *args: asyncio.ensure_future(getattr(self.stage, method)(*args)))

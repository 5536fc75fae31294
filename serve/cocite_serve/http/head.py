"""``HEAD`` on every path that has ``GET``: the same head of the response, without the body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """Middleware that answers ``HEAD`` as ``GET``, and sends no body.

    Args:
        app: the application behind it.

    Example:
        >>> from fastapi import FastAPI
        >>> from starlette.testclient import TestClient
        >>> app = FastAPI()
        >>> _ = app.get("/")(lambda: "four")
        >>> app.add_middleware(HeadAsGet)
        >>> answer = TestClient(app).head("/")
        >>> answer.headers["content-length"], answer.content
        ('6', b'')
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def head(message: Message) -> None:
            # A server looks there for whether the answer has a body.
            scope["method"] = "HEAD"
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # In place, because what is around this looks into the scope for the route that was found.
        scope["method"] = "GET"
        try:
            await self.app(scope, receive, head)
        finally:
            scope["method"] = "HEAD"

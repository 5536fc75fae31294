"""Security headers of every response, and the web page.

Nothing is fetched from elsewhere: the page's files are in this package, and the interactive API documentation is
Swagger UI as the package ``fastapi_offline`` carries it.
"""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse
from starlette.datastructures import MutableHeaders
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE = Path(str(files("cocite_serve"))) / "static"
SWAGGER = Path(str(files("fastapi_offline"))) / "static"

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Swagger UI's page starts itself with an inline script.
DOCS_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class SecurityHeaders:
    """Middleware whose headers let a browser run the page's own files alone, and send no address elsewhere.

    Example:
        >>> from starlette.testclient import TestClient
        >>> app = FastAPI()
        >>> app.add_middleware(SecurityHeaders)
        >>> TestClient(app).get("/").headers["referrer-policy"]
        'no-referrer'
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add headers to its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        policy = DOCS_POLICY if scope["path"].rstrip("/").endswith("/docs") else PAGE_POLICY

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                if "cache-control" not in headers:
                    # A browser asks again each time: after an upgrade, an old script must not meet a newer API.
                    headers["Cache-Control"] = "no-cache" if message["status"] < 300 else "no-store"
            await send(message)

        await self.app(scope, receive, add)


def add_pages(app: FastAPI) -> None:
    """Add the web page at ``/`` and the API's documentation at ``/docs``."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="openapi.json",
            title=f"{app.title}: API",
            swagger_js_url="docs-assets/swagger-ui-bundle.js",
            swagger_css_url="docs-assets/swagger-ui.css",
            swagger_favicon_url="static/icon.svg",
        )

    app.mount("/static", StaticFiles(directory=PAGE))
    app.mount("/docs-assets", StaticFiles(directory=SWAGGER))

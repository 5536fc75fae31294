"""What the API's description says of keys, where an endpoint asks for them: how they are sent, and to which paths."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from cocite_serve.http.keys import is_open

SCHEMES: dict[str, dict[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`"},
    "header": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "`X-API-Key: KEY`, beside the login of a proxy",
    },
}


def describe_keys(app: FastAPI) -> None:
    """Let an application's description say that each path but the open ones asks for a key, in either header.

    Example:
        >>> app = FastAPI()
        >>> @app.get("/v1/version")
        ... def version() -> str: ...
        >>> describe_keys(app)
        >>> app.openapi()["paths"]["/v1/version"]["get"]["security"]
        [{'bearer': []}, {'header': []}]
    """
    original = app.openapi

    def openapi() -> dict[str, Any]:
        description = original()
        description.setdefault("components", {})["securitySchemes"] = SCHEMES
        for path, operations in description["paths"].items():
            for method, operation in operations.items():
                if not is_open(path, method.upper()):
                    operation["security"] = [{name: []} for name in SCHEMES]
        return description

    app.openapi = openapi  # type: ignore[method-assign]

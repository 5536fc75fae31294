"""A server that answers as Zotero's local API does, with items in its documented form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LIBRARY = "/api/users/0/"
API = "/api/"


def item(key: str, *, kind: str = "journalArticle", **fields: Any) -> dict[str, Any]:
    """An item as ``format=json`` gives it."""
    library = {"type": "user", "id": 475425, "name": "Me", "links": {}}
    data = {"key": key, "version": 7, "itemType": kind, "title": "", "creators": [], "tags": [], **fields}
    return {"key": key, "version": 7, "library": library, "links": {}, "meta": {}, "data": data}


def collection(key: str, name: str) -> dict[str, Any]:
    """A collection as ``format=json`` gives it."""
    return {"key": key, "version": 3, "data": {"key": key, "name": name, "parentCollection": False}}


def group(number: int, name: str) -> dict[str, Any]:
    """A group as ``format=json`` gives it: a number identifies it, and no key."""
    data = {"id": number, "version": 2, "name": name, "owner": 475425, "type": "Private", "description": ""}
    return {"id": number, "version": 2, "links": {}, "meta": {"numItems": 3}, "data": data}


@dataclass
class FakeZotero:
    """What the server has, and what it was asked.

    Attributes:
        objects: path below the user's library, or of another library below the API -> its objects.
        knows_pages: whether ``limit`` and ``start`` are heeded; Zotero 7.0 did not.
        is_on: whether the local API is switched on.
        raw: what it answers instead.
        asked: the requests' targets.
        port: it listens on.
    """

    objects: dict[str, list[dict[str, Any]]]
    knows_pages: bool = True
    is_on: bool = True
    raw: bytes | None = None
    asked: list[str] = field(default_factory=list)
    port: int = 0

    def answer(self, target: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        self.asked.append(target)
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        headers = {"Content-Type": "application/json", "Zotero-API-Version": "3"}
        if not self.is_on:
            return 403, {"Content-Type": "text/plain"}, b"Local API is not enabled"
        if self.raw is not None:
            return 200, headers, self.raw
        root = LIBRARY if url.path.startswith(LIBRARY) else API
        found = self.objects.get(url.path.removeprefix(root)) if url.path.startswith(root) else None
        if found is None:
            return 404, {"Content-Type": "text/plain"}, b"Not found"
        if self.knows_pages:
            headers["Total-Results"] = str(len(found))
            start = int(query.get("start", 0))
            found = found[start : start + int(query["limit"])]
        return 200, headers, json.dumps(found, indent=4).encode()


@contextmanager
def served(fake: FakeZotero) -> Iterator[FakeZotero]:
    """Serve on a free port of the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = fake.answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()

"""A server that answers as Zotero's local API does, and Better BibTeX beside it, in their documented forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from helpers.local_api import answering

LIBRARY = "/api/users/0/"
API = "/api/"


HOST = "http://localhost:23119/api"


def _object(kind: str, key: str, data: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    """An object of a user's library: what identifies it, where it is, what is computed of it, and its fields."""
    page = "https://www.zotero.org/reader"
    links = {
        "self": {"href": f"{HOST}/users/4711/{kind}/{key}", "type": "application/json"},
        "alternate": {"href": f"{page}/{kind}/{key}", "type": "text/html"},
    }
    owner = {"alternate": {"href": page, "type": "text/html"}}
    library = {"type": "user", "id": 4711, "name": "A reader", "links": owner}
    return {"key": key, "version": 7, "library": library, "links": links, "meta": meta, "data": data}


def item(key: str, *, kind: str = "journalArticle", **fields: Any) -> dict[str, Any]:
    """An item as ``format=json`` gives it: all fields of its type are there, the empty ones as empty texts."""
    empty = dict.fromkeys(
        ("title", "abstractNote", "publicationTitle", "volume", "pages", "date", "DOI", "citationKey", "url",
         "accessDate", "language", "extra"), ""
    )  # fmt: skip
    dates = {"dateAdded": "2024-02-03T04:05:06Z", "dateModified": "2024-02-03T04:05:06Z"}
    lists: dict[str, Any] = {"creators": [], "tags": [], "collections": [], "relations": {}}
    data = {"key": key, "version": 7, "itemType": kind, **empty, **lists, **dates, **fields}
    return _object("items", key, data, {"numChildren": 0})


def collection(key: str, name: str) -> dict[str, Any]:
    """A collection as ``format=json`` gives it."""
    data = {"key": key, "version": 7, "name": name, "parentCollection": False, "relations": {}}
    return _object("collections", key, data, {"numCollections": 0, "numItems": 1})


def group(number: int, name: str) -> dict[str, Any]:
    """A group as ``format=json`` gives it: a number identifies it, and no key."""
    rights = {"libraryReading": "members", "libraryEditing": "admins", "fileEditing": "admins"}
    data = {
        "id": number,
        "version": 2,
        "name": name,
        "owner": 4711,
        "type": "Private",
        "description": "",
        **rights,
    }
    links = {"self": {"href": f"{HOST}/groups/{number}", "type": "application/json"}}
    return {"id": number, "version": 2, "links": links, "meta": {"numItems": 3}, "data": data}


@dataclass
class FakePlugin:
    """Better BibTeX, by its JSON-RPC.

    Attributes:
        keys: key of an item, behind ``NUMBER:`` where it is in another library than the user's -> its citation key.
        libraries: number of a library in this Zotero -> its name.
        raw: what it answers instead.
        asked: what it was asked.
    """

    keys: dict[str, Any]
    libraries: dict[int, str] = field(default_factory=dict)
    raw: bytes | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        if headers.get("Content-Type") != "application/json":
            return 400, {"Content-Type": "text/plain"}, b"Endpoint does not support content-type"
        if self.raw is not None:
            return 200, {"Content-Type": "application/json"}, self.raw
        asked = json.loads(body)
        self.asked.append(asked)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        match asked["method"], asked["params"]:
            case "item.citationkey", [list(keys)]:
                answer["result"] = {key: self.keys.get(key) for key in keys}
            case "user.groups", []:
                answer["result"] = [{"id": number, "name": name} for number, name in self.libraries.items()]
            case _:
                answer |= {"id": None, "error": {"code": -32601, "message": "Method not found"}}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()


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
        plugin: None: it is not installed.
    """

    objects: dict[str, list[dict[str, Any]]]
    knows_pages: bool = True
    is_on: bool = True
    raw: bytes | None = None
    asked: list[str] = field(default_factory=list)
    port: int = 0
    plugin: FakePlugin | None = None

    def answer(self, target: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        self.asked.append(target)
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        headers = {
            "Content-Type": "application/json",
            "Zotero-API-Version": "3",
            "Zotero-Schema-Version": "37",
            "Last-Modified-Version": "7",
        }
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
            start, limit = int(query.get("start", 0)), int(query["limit"])
            if start + limit < len(found):
                following = f"{url.path}?{urlencode({**query, 'start': start + limit})}"
                headers["Link"] = f'<http://localhost:23119{following}>; rel="next"'
            found = found[start : start + limit]
        return 200, headers, json.dumps(found, indent=4).encode()

    def answer_post(
        self, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        if self.plugin is None or target != "/better-bibtex/json-rpc":
            return 404, {"Content-Type": "text/plain"}, b"No endpoint found"
        return self.plugin.answer(headers, body)


@contextmanager
def served(fake: FakeZotero) -> Iterator[FakeZotero]:
    """Serve on a free port of the loopback interface."""
    with answering(fake.answer, fake.answer_post) as fake.port:
        yield fake

"""A server that answers as the path ``works`` of Crossref's API does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from helpers.local_api import answering


def work(doi: str, title: str, year: int = 2000) -> dict[str, Any]:
    """A work with the fields that are selected."""
    return {"DOI": doi, "title": [title] if title else [], "issued": {"date-parts": [[year]]}}


@dataclass
class FakeCrossref:
    """What the server has, and what it was asked.

    Attributes:
        works: that it knows.
        status: of its answers.
        raw: what it answers instead.
        asked: the DOIs of each request.
        address: that it listens on.
    """

    works: list[dict[str, Any]]
    status: int = 200
    raw: bytes | None = None
    asked: list[list[str]] = field(default_factory=list)
    address: str = ""

    def answer(self, target: str) -> bytes:
        """The body for a request."""
        url = urlsplit(target)
        assert url.path == "/works"
        query = parse_qs(url.query)
        dois = [one.removeprefix("doi:") for one in query["filter"][0].split(",")]
        self.asked.append(dois)
        found = [one for one in self.works if str(one.get("DOI")).lower() in dois][: int(query["rows"][0])]
        message = {"total-results": len(found), "items": found, "items-per-page": 25}
        value = {"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message}
        return json.dumps(value).encode() if self.raw is None else self.raw


@contextmanager
def served(fake: FakeCrossref) -> Iterator[FakeCrossref]:
    """Serve on a free port of the loopback interface."""

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        return fake.status, {"Content-Type": "application/json"}, fake.answer(path)

    with answering(answer) as port:
        fake.address = f"http://127.0.0.1:{port}/"
        yield fake

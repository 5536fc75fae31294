"""Clients that ask an endpoint one request after the other until they are told to stop, and what each answer was."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import psutil

TIMEOUT_S = 120


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        status: of HTTP; 0: the connection broke, or what came was no JSON.
        model: version of the model that answered; empty where none is named.
        index: version of the index, likewise.
        error: what went wrong; empty where nothing did.
        at: when it came, by ``time.perf_counter``.
    """

    status: int
    model: str = ""
    index: str = ""
    error: str = ""
    at: float = field(default_factory=time.perf_counter)


@dataclass
class WaitingClients:
    """So many clients, each of which waits for its answer, pauses and asks again.

    Attributes:
        answers: all so far, of all clients.
    """

    url: str
    bodies: list[dict[str, Any]]
    clients: int
    pause_s: float
    answers: list[Answer] = field(default_factory=list)

    @contextmanager
    def asking(self) -> Iterator[WaitingClients]:
        """Ask until the block ends; the answers under way are waited for."""
        ended = threading.Event()
        with ThreadPoolExecutor(self.clients) as pool:
            threads = [pool.submit(self._ask, number, ended) for number in range(self.clients)]
            try:
                yield self
            finally:
                ended.set()
            for each in threads:
                each.result()

    def by(self, model: str, since: int = 0) -> int:
        """How many answers a version of the model gave, the first ``since`` left out."""
        return sum(answer.model == model for answer in self.answers[since:])

    def _ask(self, number: int, ended: threading.Event) -> None:
        with httpx.Client(base_url=self.url, timeout=TIMEOUT_S) as client:
            for at in itertools.count(number, self.clients):
                if ended.wait(self.pause_s):
                    return
                self.answers.append(_ask(client, self.bodies[at % len(self.bodies)]))


def _ask(client: httpx.Client, body: dict[str, Any]) -> Answer:
    try:
        response = client.post("/v1/recommend", json=body)
        content = response.json()
    except (httpx.TransportError, ValueError) as broken:
        return Answer(0, error=repr(broken))
    versions = content.get("model_version", ""), content.get("index_version", "")
    return Answer(response.status_code, *versions, error="" if response.status_code == 200 else str(content))


def newest_reranker(pid: int) -> psutil.Process:
    """The reranker of the stages that an endpoint's process started last: those on trial."""
    found = {}
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):  # one that ends meanwhile
            title = " ".join(process.cmdline())
            if "ServeReplica:cocite-stages-" in title and ":Reranker" in title:
                found[int(title.split("cocite-stages-")[1].split(":")[0])] = process
    return found[max(found)]

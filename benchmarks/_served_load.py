"""Load on an endpoint: clients that wait for their answers, clients that do not, and clients that leave.

They share the cores with the endpoint; the CPU time of this process says what they take of them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from aiohttp import ClientSession, ClientTimeout, TCPConnector

TIMEOUT_S = 300


@dataclass(frozen=True)
class Call:
    """One request: when it was sent, how long it took, and what came back."""

    at: float
    seconds: float
    status: int
    read: int
    retry_after: int

    @property
    def end(self) -> float:
        """When the answer came."""
        return self.at + self.seconds


@dataclass(frozen=True)
class Line:
    """Requests of some time, and the part of it in which the load was even.

    Attributes:
        calls: all of them.
        begin: when every client had its first answer; of clients that do not wait, the first answer of all.
        end: when clients stopped asking.
    """

    calls: list[Call]
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """Seconds of even load."""
        return self.end - self.begin

    @property
    def within(self) -> list[Call]:
        """The calls that were answered under even load. Those before and after it are answered beside fewer others, and
        the last of them leave a replica idle."""
        return [call for call in self.calls if self.begin < call.end <= self.end]


async def ask(client: ClientSession, body: dict[str, Any]) -> Call:
    """Send one request and wait for its answer."""
    begin = time.perf_counter()
    async with client.post("/v1/recommend", json=body) as answer:
        content = await answer.read()
        seconds = time.perf_counter() - begin
        reranked = json.loads(content).get("reranked") or {"read": 0}
        return Call(
            begin, seconds, answer.status, reranked["read"], int(answer.headers.get("retry-after", 0))
        )


def connect(url: str) -> ClientSession:
    """Clients with as many connections as they need; a context manager."""
    return ClientSession(url, timeout=ClientTimeout(total=TIMEOUT_S), connector=TCPConnector(limit=0))


async def closed_loop(url: str, bodies: list[dict[str, Any]], clients: int, seconds: float) -> list[Call]:
    """So many clients, each of which waits for its answer and asks again, for some time and at least once; all answers
    are waited for."""
    return (await _ask_in_turns(url, bodies, clients, seconds, once_all_answered=False)).calls


async def steady_loop(url: str, bodies: list[dict[str, Any]], clients: int, seconds: float) -> Line:
    """So many clients, each of which waits for its answer and asks again, for some time after each had an answer."""
    return await _ask_in_turns(url, bodies, clients, seconds, once_all_answered=True)


async def _ask_in_turns(
    url: str, bodies: list[dict[str, Any]], clients: int, seconds: float, *, once_all_answered: bool
) -> Line:
    """Both loops: the seconds begin at once, or when every client had its first answer."""
    done: list[Call] = []
    answered = 0
    begin = float("inf") if once_all_answered else time.perf_counter()

    async def client(connection: ClientSession, own: Iterator[dict[str, Any]]) -> None:
        nonlocal answered, begin
        done.append(await ask(connection, next(own)))
        answered += 1
        if once_all_answered and answered == clients:
            begin = time.perf_counter()
        while time.perf_counter() < begin + seconds:
            done.append(await ask(connection, next(own)))

    async with connect(url) as connection:
        # Each client starts at another request.
        own = [itertools.cycle(bodies[i:] + bodies[:i]) for i in range(clients)]
        await asyncio.gather(*(client(connection, bodies_of) for bodies_of in own))
    return Line(done, begin, begin + seconds)


async def open_loop(url: str, bodies: list[dict[str, Any]], rate: float, seconds: float) -> Line:
    """Requests at random times (Poisson) at a rate a second, whatever becomes of those before."""
    draw = np.random.default_rng(0)
    calls = []
    async with connect(url) as connection:
        begin, at = time.perf_counter(), 0.0
        for body in itertools.cycle(bodies):
            at += draw.exponential(1 / rate)
            if at > seconds:
                break
            await asyncio.sleep(max(0.0, begin + at - time.perf_counter()))
            calls.append(asyncio.ensure_future(ask(connection, body)))
        done = list(await asyncio.gather(*calls))
    first = min((call.end for call in done if call.status == 200), default=begin)
    return Line(done, first, begin + seconds)


async def leave(url: str, bodies: list[dict[str, Any]], count: int, at_once: int, seconds: float) -> None:
    """So many clients, so many at once, each of which leaves after some seconds without an answer."""
    gate = asyncio.Semaphore(at_once)

    async def client(connection: ClientSession, body: dict[str, Any]) -> None:
        async with gate:
            try:
                async with asyncio.timeout(seconds):
                    await ask(connection, body)
            except TimeoutError:
                return

    async with connect(url) as connection:
        await asyncio.gather(
            *(client(connection, body) for body in itertools.islice(itertools.cycle(bodies), count))
        )


async def beside(
    url: str, small: list[dict[str, Any]], large: list[dict[str, Any]], streams: int, count: int
) -> tuple[list[Call], list[Call]]:
    """Small requests one after the other, while so many clients send large ones one after the other."""
    stop = asyncio.Event()

    async def stream(connection: ClientSession, own: Iterator[dict[str, Any]]) -> list[Call]:
        calls = []
        while not stop.is_set():
            calls.append(await ask(connection, next(own)))
        return calls

    async with connect(url) as connection:
        running = [
            asyncio.ensure_future(stream(connection, itertools.cycle(large[i:] + large[:i])))
            for i in range(streams)
        ]
        await asyncio.sleep(2.0)
        calls = [await ask(connection, body) for body in itertools.islice(itertools.cycle(small), count)]
        stop.set()
        return calls, [call for part in await asyncio.gather(*running) for call in part]


def percentile(calls: list[Call], share: float) -> float:
    """Seconds within which a share of the calls, in percent, was answered."""
    return float(np.percentile([call.seconds for call in calls], share))

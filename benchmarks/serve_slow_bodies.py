"""Small requests beside clients that send their body a byte now and then, against the same without such clients.

    .venv/bin/python -m benchmarks.serve_slow_bodies --index INDEX [--model MODEL] [--on ray,process] [--json FILE]

Each of 300 clients announces a body of a request, sends a byte of it every second, at another moment than the others,
and begins anew when the endpoint ends it with 408 (``limits.body_s``, 10 seconds). Small requests are sent one after
the other, in rounds without and with the slow clients in turn, so that other work on the machine disturbs both. Prints
for each way to serve (on Ray Serve, in one process) the times of the small requests, their quotients, and what the slow
clients were answered.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks._endpoint import endpoint
from benchmarks._measured_process import provenance
from benchmarks._served_load import Call, closed_loop, percentile
from benchmarks.serve_latency import requests
from cocite.cli.console import print_table

CLIENTS = 300
PAUSE_S = 1.0
"""Between two bytes of a client."""
BODY_BYTES = 1000
SETTLE_S = 2.0
"""Until all slow clients are connected."""
TOP_K = 5
QUERIES = 200
WARM_UP_S = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path, required=True, help="index folder; its papers are the requests")
    parser.add_argument("--model", type=Path, help="model folder")
    parser.add_argument("--on", default="ray,process", help="ways to serve, as of cocite serve")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="that send their body slowly")
    parser.add_argument("--rounds", type=int, default=4, help="without and with them")
    parser.add_argument("--seconds", type=float, default=15, help="of each half of a round")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    texts = requests(options.index, QUERIES)["title + abstract"]
    bodies = [body | {"top_k": TOP_K} for body in texts]
    rows = []
    for on in options.on.split(","):
        with endpoint(options.index, options.model, "--on", on) as (url, _):
            load = os.getloadavg()[0]
            measured = asyncio.run(rounds(url, bodies, options))
            rows.append({"on": on, **measured, "load before": load, "load after": os.getloadavg()[0]})
            print(json.dumps(rows[-1]), flush=True)
    print_table(
        f"small requests beside {options.clients} slow bodies",
        list(rows[0]),
        [list(row.values()) for row in rows],
    )
    if options.json:
        result = {
            **provenance("serve_slow_bodies"),
            "clients": options.clients,
            "lines": rows,
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n")


async def rounds(url: str, bodies: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """A line of the table: rounds of small requests without slow clients, and with them."""
    alone: list[Call] = []
    beside: list[Call] = []
    statuses = Counter[str]()
    await closed_loop(url, bodies, 1, WARM_UP_S)
    for _ in range(options.rounds):
        alone += await closed_loop(url, bodies, 1, options.seconds)
        async with slow_clients(url, options.clients, statuses):
            await asyncio.sleep(SETTLE_S)
            beside += await closed_loop(url, bodies, 1, options.seconds)
    p50, p95 = ([percentile(calls, share) for calls in (alone, beside)] for share in (50, 95))
    return {
        "requests alone": len(alone),
        "requests beside": len(beside),
        "not 200": sum(call.status != 200 for call in [*alone, *beside]),
        "alone p50 ms": 1000 * p50[0],
        "beside p50 ms": 1000 * p50[1],
        "of alone p50": p50[1] / p50[0],
        "alone p95 ms": 1000 * p95[0],
        "beside p95 ms": 1000 * p95[1],
        "of alone p95": p95[1] / p95[0],
        "slow bodies": " ".join(f"{status}: {count}" for status, count in sorted(statuses.items())),
    }


@asynccontextmanager
async def slow_clients(url: str, count: int, statuses: Counter[str]) -> AsyncIterator[None]:
    """So many clients send a byte now and then until the block ends; counts the statuses that they get."""
    tasks = [
        asyncio.ensure_future(slow_client(url, PAUSE_S * number / count, statuses)) for number in range(count)
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if not isinstance(error, asyncio.CancelledError) and isinstance(error, BaseException):
            raise error


async def slow_client(url: str, begin_s: float, statuses: Counter[str]) -> None:
    """One client, which begins after some seconds, and anew whenever it was answered; until it is cancelled."""
    address = urlsplit(url)
    head = f"POST /v1/recommend HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
    await asyncio.sleep(begin_s)
    while True:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        answer = asyncio.ensure_future(reader.readline())
        try:
            writer.write(head.encode())
            await trickle(writer, answer, itertools.repeat(b" ", BODY_BYTES - 1))
            line = (await answer).decode()
            statuses[line.split()[1] if line else "none"] += 1
        except ConnectionError:
            statuses["none"] += 1
        finally:
            answer.cancel()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def trickle(writer: asyncio.StreamWriter, answer: asyncio.Future[bytes], body: Iterator[bytes]) -> None:
    """Send a byte now and then until there is an answer."""
    for byte in body:
        writer.write(byte)
        await writer.drain()
        if (await asyncio.wait([answer], timeout=PAUSE_S))[0]:
            return


if __name__ == "__main__":
    main()

"""What clients notice when processes of the endpoint are killed, stopped, or its HTTP proxy dies.

    python -m benchmarks.serve_deaths --index INDEX [--model MODEL] [--kills 20] [--kinds Gateway] [--json FILE]

Two replicas of each stage and two gateways, eight clients that ask one request after the other, without a cross-encoder
unless the model has one, which then reads two pairs a request. One line for each kind of process:

- SIGKILL of one of two replicas, so many times, each once the one before it is replaced: how many answers, how many
  that were no 200, the longest wait, and the seconds until two replicas run again;
- SIGSTOP of a replica: the answers that were no 200, the seconds until it was noticed (Ray Serve's controller has
  marked it unhealthy: no further request goes to it), and until a new one runs beside the other;
- SIGKILL of the HTTP proxy: the seconds without an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks._endpoint import endpoint, healthy
from benchmarks._measured_process import provenance
from benchmarks.serve_latency import requests
from cocite.cli.console import print_table

CLIENTS = 8
REPLACED_S = 90
"""Seconds within which a process is replaced, or the line ends."""
LOADING_S = 3.0
"""Seconds that a replica loads at least."""
READ = {"rerank": 2}
"""Pairs of a request, where the model has a cross-encoder: two cores read some thirty pairs a second."""
PATIENT = {"reranker.max_wait_s": 60, "request_timeout_s": 60}
"""So that no request is refused because one of two replicas is gone."""
KINDS = ("Retriever", "Reranker", "Gateway")
PROXY = "ProxyActor"
UNHEALTHY = b"times in a row, marking it unhealthy"
"""In a line of Ray Serve's controller after the last failed check, whose log is written at once."""
SESSION = "--session_dir="
"""Before the folder of a Ray in the command lines of its processes."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, required=True, help="index folder; its corpus gives the requests"
    )
    parser.add_argument("--model", type=Path, help="model folder")
    parser.add_argument("--kills", type=int, default=20, help="of each kind of replica")
    parser.add_argument("--parts", default="kill,stop,proxy", help="which lines")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of which replicas")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    bodies = [body | READ for group in requests(options.index, 200).values() for body in group]
    replicated = {f"{kind.lower()}.replicas": 2 for kind in KINDS}
    settings = [
        part for name, value in (replicated | PATIENT).items() for part in ("--set", f"{name}={value}")
    ]
    with endpoint(options.index, options.model, *settings) as (url, process):
        rows = []
        time.sleep(LOADING_S)  # what has just begun does not count as a replica yet
        wanted = options.kinds.split(",")
        # No reranker without a cross-encoder.
        kinds = [kind for kind in KINDS if kind in wanted and replicas(process, kind)]
        if "kill" in options.parts:
            rows += [killed(url, process, kind, bodies, options.kills) for kind in kinds]
        if "stop" in options.parts:
            rows += [stopped(url, process, kind, bodies) for kind in kinds]
        if "proxy" in options.parts:
            rows.append(proxy_killed(url, process, bodies))
    result = {**provenance("serve_deaths"), "clients": CLIENTS, "lines": rows}
    columns = list(rows[0])
    print_table("deaths", columns, [[row.get(column, "") for column in columns] for row in rows])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def killed(
    url: str, process: subprocess.Popen[bytes], kind: str, bodies: list[dict[str, Any]], kills: int
) -> dict[str, Any]:
    """SIGKILL of one of two replicas, again and again."""
    waits = []
    with load(url, bodies) as answers:
        time.sleep(2)
        for _ in range(kills):
            waits.append(kill_one(process, kind))
            time.sleep(1)
    return line(f"SIGKILL of a {kind.lower()}", kills, answers, max(waits))


def kill_one(process: subprocess.Popen[bytes], kind: str) -> float:
    """Kill the oldest replica of a deployment. Returns the seconds until two others run."""
    victim = replicas(process, kind)[0]
    begin = time.perf_counter()
    victim.kill()
    wait_for(lambda: len(others(process, kind, victim)) >= 2)
    return time.perf_counter() - begin


def stopped(
    url: str, process: subprocess.Popen[bytes], kind: str, bodies: list[dict[str, Any]]
) -> dict[str, Any]:
    """SIGSTOP of one of two replicas."""
    with load(url, bodies) as answers:
        time.sleep(2)
        victim = replicas(process, kind)[0]
        log = controller_log(process)
        before = log.stat().st_size
        begin = time.perf_counter()
        victim.suspend()
        wait_for(lambda: UNHEALTHY in log.read_bytes()[before:])
        noticed = time.perf_counter() - begin
        wait_for(lambda: len(others(process, kind, victim)) >= 2)
        seconds = time.perf_counter() - begin
        time.sleep(2)
    return line(f"SIGSTOP of a {kind.lower()}", 1, answers, seconds, noticed)


def proxy_killed(url: str, process: subprocess.Popen[bytes], bodies: list[dict[str, Any]]) -> dict[str, Any]:
    """SIGKILL of the process that clients connect to."""
    with load(url, bodies) as answers:
        time.sleep(2)
        [victim, *_] = named(process, PROXY)
        begin = time.perf_counter()
        victim.kill()
        time.sleep(0.2)
        wait_for(lambda: healthy(url))
        seconds = time.perf_counter() - begin
    return line("SIGKILL of the HTTP proxy", 1, answers, seconds)


def line(
    what: str, times: int, answers: Answers, seconds: float, noticed: float | None = None
) -> dict[str, Any]:
    """A row of the table, printed at once: the next may take minutes."""
    row = {
        "what": what,
        "times": times,
        "answers": sum(answers.statuses.values()),
        "not 200": sum(answers.statuses.values()) - answers.statuses[200],
        "which": ", ".join(f"{n} x {s}" for s, n in answers.statuses.items() if s != 200),
        "longest s": round(answers.longest, 2),
        "noticed after s": "" if noticed is None else round(noticed, 2),
        "again after s": round(seconds, 2),
    }
    print(json.dumps(row), flush=True)
    return row


class Answers:
    """What clients got: how many of each status (0: the connection broke), and the longest wait of all."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.longest = 0.0


@contextmanager
def load(url: str, bodies: list[dict[str, Any]]) -> Iterator[Answers]:
    """Clients that ask one request after the other in a thread of their own, until the block ends."""
    answers, end = Answers(), threading.Event()

    async def client(connection: httpx.AsyncClient, number: int) -> None:
        at = number
        while not end.is_set():
            begin = time.perf_counter()
            try:
                status = (await connection.post("/v1/recommend", json=bodies[at % len(bodies)])).status_code
            except httpx.TransportError:
                status = 0
                await asyncio.sleep(0.05)
            answers.statuses[status] += 1
            answers.longest = max(answers.longest, time.perf_counter() - begin)
            at += CLIENTS

    async def clients() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as connection:
            await asyncio.gather(*(client(connection, number) for number in range(CLIENTS)))

    thread = threading.Thread(target=asyncio.run, args=(clients(),))
    thread.start()
    try:
        yield answers
    finally:
        end.set()
        thread.join()


def named(process: subprocess.Popen[bytes], name: str) -> list[psutil.Process]:
    """The endpoint's processes whose title has a name, the oldest first."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            if name in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return sorted(found, key=lambda child: child.create_time())


def replicas(process: subprocess.Popen[bytes], kind: str) -> list[psutil.Process]:
    """The replicas of a deployment that have loaded what they serve: until then their title says so."""
    found = []
    for each in named(process, f":{kind}"):
        try:
            # A process that has just begun has its title before it begins to load.
            if "initialize" not in " ".join(each.cmdline()) and time.time() - each.create_time() > LOADING_S:
                found.append(each)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def others(process: subprocess.Popen[bytes], kind: str, victim: psutil.Process) -> list[psutil.Process]:
    return [each for each in replicas(process, kind) if each.pid != victim.pid]


def controller_log(process: subprocess.Popen[bytes]) -> Path:
    """The log of the Ray Serve controller of an endpoint's private Ray."""
    for each in psutil.Process(process.pid).children(recursive=True):
        for word in each.cmdline():
            if word.startswith(SESSION):
                [log] = Path(word.removeprefix(SESSION)).glob("logs/serve/controller_*.log")
                return log
    raise FileNotFoundError("no process of the endpoint names a session of Ray")


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something is so, at most :data:`REPLACED_S`."""
    end = time.perf_counter() + REPLACED_S
    while not done():
        if time.perf_counter() > end:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main()

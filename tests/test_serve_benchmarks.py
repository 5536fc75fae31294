"""The pieces of the endpoint's benchmarks: generated cases, clients that send slowly, and what a row is of."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("benchmarks.serve_cases", reason="run from a checkout")

from benchmarks import serve_latency, serve_rollouts, serve_slow_bodies
from benchmarks._waiting_clients import Answer
from benchmarks.serve_cases import EXPECTED, KEYS, beside_options, counted, key_headers
from benchmarks.serve_slow_bodies import slow_clients
from benchmarks.serving import by_kind
from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.key_file import digest, read_keys
from cocite_serve.settings import ServeSettings


def test_answers_and_failed_checks_are_counted(tmp_path: Path) -> None:
    def finished(status: int | None, *checks: str) -> dict[str, Any]:
        response = None if status is None else {"status_code": status}
        failed = [{"name": name, "status": "failure"} for name in checks]
        return {
            "ScenarioFinished": {
                "recorder": {
                    "interactions": {"a": {"response": response}},
                    "checks": {"a": [{"name": "not_a_server_error", "status": "success"}, *failed]},
                }
            }
        }

    events = [
        {"EngineStarted": {"id": "x"}},
        finished(200),
        finished(422),
        finished(200, "response_schema_conformance"),
        finished(None),
        {"ScenarioFinished": {"recorder": {"label": "one without requests"}}},
    ]
    file = tmp_path / "events.ndjson"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    answers, failed = counted(file)
    assert answers == {"200": 2, "422": 1, "none": 1}
    assert failed == {"response_schema_conformance": 1}


def test_each_kind_of_key_is_sent_as_its_file_has_it(tmp_path: Path) -> None:
    headers = key_headers(tmp_path / "keys")
    kept = {key.sha256: key for key in read_keys(tmp_path / "keys")}
    found = {
        kind: kept.get(digest(header.split()[-1])) for kind, header in headers.items() if header is not None
    }
    assert {kind for kind, key in found.items() if key is not None} == KEYS.keys()
    assert found["wrong"] is None
    assert headers.keys() - found.keys() == {"none"}
    assert found["of a low rate"].per_minute == 60  # type: ignore[union-attr]
    assert EXPECTED.keys() == headers.keys() - {"admin"}


def test_a_second_release_is_named_as_cocite_serve_reads_it() -> None:
    words = beside_options("split")
    settings = ServeSettings.parse({"index": "index"}, where="cocite serve", overrides=words[1::2])
    assert (settings.beside.index_version, settings.beside.traffic) == ("000001", "split")
    assert words[::2] == ["--set"] * 3


def test_slow_clients_send_byte_by_byte_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_slow_bodies, "PAUSE_S", 0.01)
    statuses, heads, pieces = Counter[str](), list[bytes](), list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        for _ in range(4):
            pieces.append(len(await reader.read(1000)))
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, slow_clients(f"http://127.0.0.1:{port}", 5, statuses):
            async with asyncio.timeout(60):
                while statuses["408"] < 15:
                    await asyncio.sleep(0.01)

    asyncio.run(run())
    assert statuses.keys() == {"408"}
    assert len(heads) >= 15, "whoever was answered begins anew"
    assert heads[0].startswith(b"POST /v1/recommend HTTP/1.1\r\n")
    # Two bytes may arrive together on a busy machine; a body that is sent at once would arrive as one piece.
    assert sum(pieces) < 2 * len(pieces)


def test_the_cpu_of_each_kind_of_process_is_seconds_a_second() -> None:
    line = by_kind("8 clients", {"proxy": 1.0, "Ray": 2.0}, {"proxy": 1.5, "Ray": 2.0}, 2.0, 30)
    assert line == {"load": "8 clients", "s": 2.0, "requests": 30, "proxy": 0.25, "Ray": 0.0}


@pytest.mark.integration
def test_rows_of_latencies_say_how_many_queries_a_block_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    options = ["--on", "process", "--clients", "1,2", "--requests", "2", "--set", "retriever.block=16"]
    file = tmp_path / "latency.json"
    monkeypatch.setattr(
        sys, "argv", ["serve_latency", "--index", str(tmp_path / "index"), *options, "--json", str(file)]
    )
    serve_latency.main()
    result = json.loads(file.read_text())
    assert [(row["block"], row["clients"]) for row in result["lines"]] == [(16, 1), (16, 2)] * 2
    assert "--set retriever.block=16" in result["command"]


def test_a_broken_releases_canary_lasts_from_its_first_answer_until_it_is_refused() -> None:
    answers = [Answer(200, model="new", index="1", at=at) for at in (12.0, 11.0)]
    answers.append(Answer(200, model="old", index="1", at=10.0))
    assert serve_rollouts.canary_s(answers, "new", refused=15.25) == 4.2
    assert serve_rollouts.canary_s(answers, "other", refused=15.25) is None


def test_twenty_releases_have_each_broken_kind_once() -> None:
    assert {kind: serve_rollouts.TWENTY.count(kind) for kind in serve_rollouts.BROKEN} == dict.fromkeys(
        serve_rollouts.BROKEN, 1
    )
    assert serve_rollouts.TWENTY[:4] == ["model", "index", "model", "nan"]
    assert serve_rollouts.releases_of("model,damaged index") == ["model", "damaged index"]
    with pytest.raises(argparse.ArgumentTypeError, match="no kind of release: moddel"):
        serve_rollouts.releases_of("moddel")

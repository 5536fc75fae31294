"""`cocite mcp` as a process, asked by the official client."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.endpoint import free_port
from mcp import Client, StdioServerParameters

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

DRAFT = "Attention aligns words [CIT]. Quality is measured by BLEU [CIT]."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


async def use(client: Client) -> None:
    """Ask each tool what an agent would ask."""
    assert client.server_info is not None
    assert client.server_info.name == "cocite"
    assert "423 papers of 1960 to 2023" in (client.instructions or "")
    assert len((await client.list_tools()).tools) == 4
    filled = await client.call_tool("fill_gaps", {"text": DRAFT, "top_k": 2})
    ids = [paper["id"] for gap in filled.structured_content["gaps"] for paper in gap["papers"]]
    assert len(ids) == 4
    explained = await client.call_tool("explain", {"id": ids[0], "text": DRAFT})
    assert explained.structured_content["rank"] == 1
    bibliography = await client.call_tool("get_bibtex", {"ids": ids})
    assert bibliography.structured_content["bibtex"].count("@") == len(set(ids))
    best = await client.call_tool("recommend", {"text": DRAFT, "top_k": 1})
    assert best.structured_content["papers"][0]["id"] == ids[0]
    refused = await client.call_tool("recommend", {"text": DRAFT, "top_k": 1000})
    assert refused.is_error


def test_an_agent_asks_over_standard_input_and_output(index: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "cocite", "mcp", "--index", str(index)]
    )

    async def run(mode: str) -> None:
        async with Client(parameters, mode=mode, read_timeout_seconds=120) as client:
            await use(client)

    asyncio.run(run("auto"))
    asyncio.run(run("legacy"))


@contextmanager
def served(index: Path) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "cocite", "mcp", "--index", str(index), "--http", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        listens = False
        for _ in range(3_000):
            with socket.socket() as probe:
                listens = probe.connect_ex(("127.0.0.1", port)) == 0
            if listens:
                break
            assert process.poll() is None, process.stderr
            time.sleep(0.1)
        assert listens
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.send_signal(signal.SIGTERM)
        _, notes = process.communicate(timeout=60)
    assert f"Serving agents at http://127.0.0.1:{port}/mcp" in notes
    assert "Traceback" not in notes


def test_agents_ask_over_http(index: Path) -> None:
    with served(index) as url:

        async def run(mode: str) -> None:
            async with Client(url, mode=mode, read_timeout_seconds=120) as client:
                await use(client)

        asyncio.run(run("auto"))
        asyncio.run(run("legacy"))


def test_a_missing_index_and_a_taken_port_are_told_in_a_sentence(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "mcp", "--index", tmp_path / "none")
    assert (code, out) == (2, "")
    assert str(tmp_path / "none") in err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = call(capsys, "mcp", "--index", index, "--http", port)
    assert code == 2
    assert err == (
        f"cocite: --http: cannot listen on 127.0.0.1:{port}: Address already in use (choose another port)\n"
    )

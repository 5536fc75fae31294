"""A model's name on the hub, where no hub can be asked."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.tiny_bert import tiny_bert
from huggingface_hub import constants

from cocite.errors import NotFoundError
from cocite.nn import hub, pretrained_transformers

LOAD = """
import sys, time
from cocite.errors import CociteError
from cocite.nn import pretrained_transformers
slept, sleep, said = 0.0, time.sleep, []
def counted(seconds):
    global slept
    slept += seconds
    sleep(seconds)
time.sleep = counted
for name in sys.argv[1:]:
    try:
        said.append(type(pretrained_transformers.load(name).backbone).__name__)
    except CociteError as error:
        said.append(f"{type(error).__name__} {error}")
print(slept, *said, sep=chr(10))
"""
NAME = "someone/some-model"


def fill(cache: Path, model: Path) -> None:
    """Put a model into a cache of the hub's client."""
    folder = cache / f"models--{NAME.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots").mkdir()
    (folder / "snapshots" / ("0" * 40)).symlink_to(model)


@contextmanager
def host(answer: bytes | None) -> Iterator[str]:
    """The address of a hub that gives one answer to everything, or none."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            while answer is not None:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a client that may ask the hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "TIMEOUT_S", 60)
    return tmp_path / "cache"


def ask(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let the client ask the hub at an address."""
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.mark.parametrize("name", ["./none", "../a/b", "/a", "~/model", "a/b/c", "two words", "folder/"])
def test_a_path_is_no_name_of_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda *_, **__: pytest.fail("the hub is asked"))
    with pytest.raises(NotFoundError, match=rf"^{name}: no such folder \(name a Hugging Face model folder"):
        pretrained_transformers.load(name)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "timed out"),
        (b"HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", "it answers 503"),
    ],
)
def test_of_a_hub_that_cannot_be_asked_the_cache_is_enough(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes | None, reason: str
) -> None:
    if answer is None:
        monkeypatch.setattr(hub, "TIMEOUT_S", 0.3)
    with host(answer) as address:
        ask(monkeypatch, address)
        sentence = f"neither a folder here nor a model in the cache {cache}, and {address} cannot be reached"
        with pytest.raises(
            NotFoundError, match=rf"^{NAME}: is {sentence} \({reason}\) \(copy the model here"
        ):
            hub.must_be_cached(NAME)
        fill(cache, tiny_bert(tmp_path / "bert", ["word"]))
        assert hub.must_be_cached(NAME)


def test_a_hub_that_answers_is_left_to_say_what_it_has(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with host(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n") as address:
        ask(monkeypatch, address)
        assert not hub.must_be_cached(NAME)


def test_without_leave_to_ask_the_hub_the_cache_is_looked_into(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        NotFoundError, match=r"HF_HUB_OFFLINE forbids to ask the hub \(unset HF_HUB_OFFLINE, copy the"
    ):
        pretrained_transformers.load(NAME)
    fill(cache, tiny_bert(tmp_path / "bert", ["word"]))
    assert hub.must_be_cached(NAME)


def test_no_network_costs_seconds_and_what_is_cached_is_loaded(tmp_path: Path) -> None:
    fill(tmp_path / "home" / "hub", tiny_bert(tmp_path / "bert", ["word"]))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{probe.getsockname()[1]}"  # nobody listens
    settings = {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": closed, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", LOAD, NAME, "someone/another"]
    done = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=True, timeout=600
    )
    seconds, *said = done.stdout.splitlines()
    assert said[0] == "BertModel"
    assert said[1].startswith(
        "NotFoundError someone/another: is neither a folder here nor a model in the cache"
    )
    assert f"{closed} cannot be reached (" in said[1]
    # Without the check, the client tries each file for half a minute, with sleep between two attempts.
    assert float(seconds) < 10

"""What is asked of the Zotero on this machine, and answers that do not come."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping

import pytest
from helpers.local_api import answering

from cocite.drafts import zotero_client
from cocite.drafts.zotero_client import answer_of
from cocite.errors import InputError


def ask(monkeypatch: pytest.MonkeyPatch, port: int | str, asked: object = None) -> tuple[int, bytes]:
    monkeypatch.setenv("COCITE_ZOTERO_PORT", str(port))
    with zotero_client.zotero_client() as client:
        return answer_of(client, "api/x", params={"limit": 3}, asked=asked)


def test_a_path_is_read_and_json_is_sent_to_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    seen: list[tuple[str, str, bytes]] = []

    def refused(target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        seen.append((target, headers["Content-Type"], body))
        return 404, {}, b"no"

    with answering(lambda target: (200, {}, target.encode()), refused) as port:
        assert ask(monkeypatch, port) == (200, b"/api/x?limit=3")
        assert ask(monkeypatch, port, ["A"]) == (404, b"no")
    assert seen == [("/api/x?limit=3", "application/json", b'["A"]')]


def test_a_zotero_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound and not listening
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"Zotero: nothing answers at port {port}.*start Zotero"):
            ask(monkeypatch, port)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "no", "٣", "23119 "])
def test_a_port_that_is_none(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    with pytest.raises(InputError, match="COCITE_ZOTERO_PORT: must be a port"):
        ask(monkeypatch, port)


def test_an_answer_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zotero_client, "MAX_ANSWER", 1000)
    with (
        answering(lambda target: (200, {}, b"[" + b" " * 2000 + b"]")) as port,
        pytest.raises(InputError, match="an answer has more than 0 MiB.*name a collection"),
    ):
        ask(monkeypatch, port)


def test_a_zotero_that_says_nothing_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zotero_client, "TIMEOUT", 0.2)
    ended = threading.Event()
    with answering(lambda target: (200, {}, b"x" * ended.wait(20))) as port:
        with pytest.raises(InputError, match="Zotero: the answer broke off: .*try again"):
            ask(monkeypatch, port)
        ended.set()

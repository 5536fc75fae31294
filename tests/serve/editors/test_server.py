"""What the server does when something fails; its answers are those of test_cli_language_server.py."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError
from pygls.workspace import Workspace

from cocite_serve.editors import server as module
from cocite_serve.editors.completions import Completer
from cocite_serve.editors.server import DraftServer

TEXT = "secret words of a draft \\cite{"
PARAMS = types.CompletionParams(types.TextDocumentIdentifier("untitled:1"), types.Position(0, len(TEXT)))


def serving(completer: Completer) -> DraftServer:
    """A server with one open draft."""
    server = DraftServer(completer)
    server.protocol._workspace = Workspace(None)
    server.workspace.put_text_document(types.TextDocumentItem("untitled:1", "latex", 1, TEXT))
    return server


class Broken(Completer):
    """Fails with words of the draft in the error, as a library's error may have them."""

    def offers(self, text: str, *_: object) -> tuple[list[object], object]:  # type: ignore[override]
        raise KeyError(text)

    def warm_up(self) -> None:
        raise KeyError("secret")


def test_a_defect_is_an_empty_list_and_the_log_has_no_word_of_the_draft(
    completer: Completer, caplog: pytest.LogCaptureFixture
) -> None:
    server = serving(Broken(completer.recommender))
    assert asyncio.run(server._complete(PARAMS)).items == []
    server._warm_up()
    server.report_server_error(ValueError("secret"), ValueError)
    assert caplog.text.count("KeyError") == 2
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_an_editor_that_refuses_to_show_progress_is_sent_none(
    completer: Completer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving(completer)
    window = types.WindowClientCapabilities(work_done_progress=True)
    server.protocol.client_capabilities = types.ClientCapabilities(window=window)
    sent: list[object] = []

    async def refuse(_: object) -> None:
        raise JsonRpcInternalError("no place for it")

    monkeypatch.setattr(server.work_done_progress, "create_async", refuse)
    monkeypatch.setattr(server.protocol, "notify", lambda *message: sent.append(message))
    asyncio.run(server._initialized(types.InitializedParams()))
    assert sent == []


class Held(Completer):
    """Answers when it is let go, and counts its answers."""

    def __init__(self, completer: Completer) -> None:
        super().__init__(completer.recommender)
        self.go, self.begun, self.answered = threading.Event(), threading.Event(), 0

    def offers(self, *args: object) -> tuple[list[object], object]:  # type: ignore[override]
        self.begun.set()
        assert self.go.wait(60)
        self.answered += 1
        return super().offers(*args)  # type: ignore[arg-type, return-value]


def test_of_requests_that_wait_the_last_alone_is_computed(completer: Completer) -> None:
    held = Held(completer)
    server = serving(held)

    async def run() -> list[types.CompletionList]:
        first = asyncio.create_task(server._complete(PARAMS))
        await asyncio.to_thread(held.begun.wait, 60)
        others = [asyncio.create_task(server._complete(PARAMS)) for _ in range(4)]
        await asyncio.sleep(0)
        others[1].cancel()
        held.go.set()
        answers = await asyncio.gather(first, *others, return_exceptions=True)
        return [answer for answer in answers if isinstance(answer, types.CompletionList)]

    answers = asyncio.run(run())
    assert [bool(answer.items) for answer in answers] == [True, False, False, True]
    assert all(answer.is_incomplete for answer in answers)
    assert held.answered == 2


def test_an_answer_that_takes_too_long_is_given_up(
    completer: Completer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.05)
    held = Held(completer)
    server = serving(held)
    begin = time.monotonic()
    try:
        assert asyncio.run(server._complete(PARAMS)).items == []
        assert time.monotonic() - begin < 60
    finally:
        held.go.set()
    assert "a completion took more than 0.05 s and was given up" in caplog.text

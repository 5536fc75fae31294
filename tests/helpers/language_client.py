"""An editor, as the tests and the benchmark of `cocite language-server` need one: pygls' client over its process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TIMEOUT = 120.0
"""Seconds for one answer: nothing is wrong with a busy machine."""
LOADED_S = 600.0


class Editor(LanguageClient):
    """Opens and changes documents, asks, and makes the edits that it is asked for in memory.

    Args:
        applies: whether it makes edits.
    """

    def __init__(self, *, applies: bool = True) -> None:
        super().__init__("editor", "1")
        self.applies = applies
        self.edits: list[types.WorkspaceEdit] = []
        self.messages: list[str] = []
        self.progress: list[str] = []
        self.loaded = asyncio.Event()
        self.versions: dict[str, int] = {}
        self.feature(types.WORKSPACE_APPLY_EDIT)(partial(self._apply))
        self.feature(types.WINDOW_SHOW_MESSAGE)(partial(self._message))
        self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)(partial(self._make_progress))
        self.feature(types.PROGRESS)(partial(self._progress))

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.edits.append(params.edit)
        return types.ApplyWorkspaceEditResult(self.applies)

    def _message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)

    def _make_progress(self, params: types.WorkDoneProgressCreateParams) -> None:
        self.progress.append("create")

    def _progress(self, params: types.ProgressParams) -> None:
        assert isinstance(params.value, dict)
        self.progress.append(str(params.value["kind"]))
        if params.value["kind"] == "end":
            self.loaded.set()

    def open(self, uri: str, text: str, language: str) -> None:
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        version = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(version, [whole]))

    async def complete(self, uri: str, line: int, character: int) -> list[types.CompletionItem]:
        params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        answer = await asyncio.wait_for(self.text_document_completion_async(params), TIMEOUT)
        assert isinstance(answer, types.CompletionList)
        return list(answer.items)

    async def complete_at_end(self, uri: str, text: str) -> list[types.CompletionItem]:
        """The items at the end of a text, which the document has from now on."""
        self.change(uri, text)
        lines = text.split("\n")
        return await self.complete(uri, len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        answer = await asyncio.wait_for(self.text_document_hover_async(params), TIMEOUT)
        assert answer is None or isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value if answer is not None else None

    async def choose(self, item: types.CompletionItem) -> None:
        """Run the command of a chosen item."""
        assert item.command is not None
        await self.run(item.command.command, *(item.command.arguments or ()))

    async def run(self, command: str, *arguments: Any) -> None:
        params = types.ExecuteCommandParams(command, list(arguments))
        await asyncio.wait_for(self.workspace_execute_command_async(params), TIMEOUT)


def edited(text: str, edit: types.TextEdit) -> str:
    """A text of ASCII letters after an edit; a place behind its end is its end, as editors have it."""
    lines = text.split("\n")

    def offset(place: types.Position) -> int:
        if place.line >= len(lines):
            return len(text)
        return sum(len(line) + 1 for line in lines[: place.line]) + place.character

    return text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]


@asynccontextmanager
async def editor(
    index: Path,
    *options: str,
    applies: bool = True,
    creates: bool = True,
    progress: bool = True,
    stderr: list[str] | None = None,
) -> AsyncIterator[Editor]:
    """An editor that has started the server, and waited until it has loaded what the first answer needs.

    Args:
        index: that the server is over.
        options: more of the command.
        applies: whether the editor makes edits.
        creates: whether the editor can create files.
        progress: whether the editor shows the progress of what the server does by itself. It has to, to wait for it.
        stderr: gets what the server wrote to its log.
    """
    client = Editor(applies=applies)
    await client.start_io(sys.executable, "-m", "cocite", "language-server", "--index", str(index), *options)
    operations = [types.ResourceOperationKind.Create] if creates else []
    workspace = types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=operations
        )
    )
    window = types.WindowClientCapabilities(work_done_progress=progress)
    capabilities = types.ClientCapabilities(workspace=workspace, window=window)
    answer = await asyncio.wait_for(client.initialize_async(types.InitializeParams(capabilities)), TIMEOUT)
    assert answer.server_info is not None
    assert answer.server_info.name == "cocite"
    client.initialized(types.InitializedParams())
    try:
        if progress:
            await asyncio.wait_for(client.loaded.wait(), LOADED_S)
        yield client
    finally:
        await asyncio.wait_for(client.shutdown_async(None), TIMEOUT)
        client.exit(None)
        process = client._server
        assert process is not None
        assert process.stderr is not None
        log = (await process.stderr.read()).decode()
        await client.stop()
        if stderr is not None:
            stderr.append(log)
        assert process.returncode == 0, log

"""The language server: speaks the Language Server Protocol over standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

import cocite
from cocite.drafts.limits import MAX_BYTES
from cocite.errors import InputError, WriteError
from cocite.write_errors import writing_to
from cocite_serve.editors.answering import ADD_ENTRY, Document, addition, completion_list, hover
from cocite_serve.editors.completions import Completer
from cocite_serve.editors.cursor import find_spot, kind_of
from cocite_serve.editors.entries import entry_edit, note_of_entry
from cocite_serve.editors.positions import Lines
from cocite_serve.failures import describe

MAX_SECONDS = 20.0
"""Time after which an answer is given up; the first one waits for what is loaded and compiled meanwhile."""
TRIGGERS = ("{", ",", "@", "[", "?", "-")
"""Signs after which an editor asks by itself, beside those of words."""
WARM_UP = "cocite/warm-up"
"""Token of the progress that an editor shows until the first answer waits for nothing."""
LOG = logging.getLogger("cocite.language_server")
T = TypeVar("T")


class DraftServer(LanguageServer):
    """Completes citations. One answer is computed at a time; one that is outdated before its turn is given up.

    Args:
        completer: finds what to offer.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.recommender import Recommender
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> server = DraftServer(Completer(Recommender.over(None, index)))
        >>> sorted(server.protocol.fm.commands)
        ['cocite.addEntry']
    """

    def __init__(self, completer: Completer) -> None:
        # An editor sends the whole text: pygls divides lines at more signs than the protocol does, so that a part
        # would be put in the wrong place of a text that has such a sign.
        super().__init__("cocite", cocite.__version__, types.TextDocumentSyncKind.Full)
        self._completer = completer
        self._executor = ThreadPoolExecutor(1, "completions")
        self._latest: dict[str, int] = {}
        self._too_large: set[str] = set()
        triggers = types.CompletionOptions(trigger_characters=list(TRIGGERS))
        # pygls puts attributes on what it is given, which a method cannot have.
        self.feature(types.INITIALIZED)(partial(self._initialized))
        self.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)(partial(self._complete))
        self.feature(types.TEXT_DOCUMENT_HOVER)(partial(self._hover))
        self.feature(types.TEXT_DOCUMENT_DID_CLOSE)(partial(self._closed))
        self.command(ADD_ENTRY)(partial(self._add_entry))

    def report_server_error(self, error: Exception, _source: Any) -> None:
        """Log an error by its class and places: its words may quote the draft."""
        LOG.error("a message could not be answered: %s", describe(error))

    async def _initialized(self, _: types.InitializedParams) -> None:
        warm = asyncio.wrap_future(self._executor.submit(self._warm_up))
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return
        progress = self.work_done_progress
        try:
            await progress.create_async(WARM_UP)
        except JsonRpcException:
            return
        progress.begin(WARM_UP, types.WorkDoneProgressBegin("cocite loads the index"))
        await warm
        progress.end(WARM_UP, types.WorkDoneProgressEnd())

    def _warm_up(self) -> None:
        try:
            self._completer.warm_up()
        except Exception as error:
            LOG.error("the first query failed: %s", describe(error))

    async def _complete(self, params: types.CompletionParams) -> types.CompletionList:
        """The papers for a citation. An empty list that is complete says that the place is in none."""
        nothing = types.CompletionList(is_incomplete=True, items=[])
        document = self._document(params.text_document.uri)
        if document is None:
            return nothing
        lines = Lines(document.text, self.workspace.position_codec)
        spot = find_spot(document.text, lines.offset(params.position), document.kind)
        if spot is None:
            return types.CompletionList(is_incomplete=False, items=[])
        number = self._latest[document.uri] = self._latest.get(document.uri, 0) + 1

        def work() -> types.CompletionList:
            if self._latest.get(document.uri) != number:
                return nothing
            return completion_list(self._completer, document, spot, lines)

        return await self._compute("completion", work) or nothing

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        document = self._document(params.text_document.uri)
        if document is None:
            return None
        lines = Lines(document.text, self.workspace.position_codec)
        at = lines.offset(params.position)
        return await self._compute("hover", partial(hover, self._completer, document, at, lines))

    async def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        self._latest.pop(params.text_document.uri, None)
        self._too_large.discard(params.text_document.uri)

    async def _add_entry(self, *arguments: Any) -> None:
        """Add the entry of a chosen paper to the draft's bibliography, by an edit that the editor makes."""
        uri, id_, key = arguments if len(arguments) == 3 else (None, None, None)
        document = self._document(uri) if isinstance(uri, str) else None
        if document is None:
            self._show("No entry was added: the draft is not open.", types.MessageType.Warning)
            return
        try:
            added = await asyncio.wrap_future(
                self._executor.submit(addition, self._completer, document, id_, key)
            )
            if added is None:
                return
            exists = await asyncio.to_thread(added.file.exists)
            create = not exists and self._creates_files()
            if not exists and not create:
                await asyncio.to_thread(_create, added.file)
        except (InputError, WriteError) as error:
            self._show(f"No entry was added: {error}.", types.MessageType.Warning)
            return
        except Exception as error:
            LOG.error("the entry could not be added: %s", describe(error))
            self._show("No entry was added; the log says why.", types.MessageType.Warning)
            return
        files = self._completer.files
        files.add(added.file, added.key, added.row)
        edit = entry_edit(added.file, added.entry, create=create)
        result = await self.workspace_apply_edit_async(
            types.ApplyWorkspaceEditParams(edit, label=f"Add the entry {added.key}")
        )
        if not result.applied:
            files.forget(added.file, added.key)
            self._show(
                f"The editor did not add the entry {added.key} to {added.file.name}.",
                types.MessageType.Warning,
            )
            return
        note = note_of_entry(added.file, added.key, document.kind, is_named=added.is_named)
        if note:
            self._show(note, types.MessageType.Info)

    def _document(self, uri: str) -> Document | None:
        """An open draft; None: it is not open, is of another kind, or is too large."""
        opened = self.workspace.text_documents.get(uri)
        if opened is None:
            return None
        kind = kind_of(opened.language_id, opened.path or "")
        if kind is None:
            return None
        if len(opened.source) > MAX_BYTES:
            if uri not in self._too_large:
                self._too_large.add(uri)
                self._show(
                    f"Citations are not completed in a draft of more than {MAX_BYTES >> 20} MiB; divide it.",
                    types.MessageType.Warning,
                )
            return None
        name = to_fs_path(uri)
        return Document(uri, opened.source, kind, Path(name) if name else None)

    async def _compute(self, what: str, work: Callable[[], T]) -> T | None:
        """A result, in its turn; None where that failed or took too long."""
        future = self._executor.submit(work)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), MAX_SECONDS)
        except TimeoutError:
            LOG.warning("a %s took more than %g s and was given up", what, MAX_SECONDS)
        except Exception as error:
            # An error's own words may quote the draft: the log has its class and places alone.
            LOG.error("a %s failed: %s", what, describe(error))
        return None

    def _creates_files(self) -> bool:
        workspace = self.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace else None
        return types.ResourceOperationKind.Create in ((edits.resource_operations if edits else None) or ())

    def _show(self, message: str, type_: types.MessageType) -> None:
        self.window_show_message(types.ShowMessageParams(type_, message))


def run_stdio(server: DraftServer) -> None:
    """Serve one editor over standard input and output, until the input ends."""
    # The messages that pygls logs have the texts of drafts.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    # The protocol has the output alone: what anything else prints goes to the log. pygls closes what it writes to.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server.start_io(stdout=output)


def _create(file: Path) -> None:
    """Make an empty file, unless it is there."""
    with writing_to(file):
        file.touch(exist_ok=True)

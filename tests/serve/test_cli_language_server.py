"""`cocite language-server` as a process, spoken to by pygls' client as an editor does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from helpers.command_line import call
from helpers.language_client import Editor, edited, editor
from lsprotocol import types

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

SENTENCE = "The quality of translations is measured by BLEU"
LATEX = (
    "\\documentclass{article}\n\\title{Attention in translation}\n\\begin{document}\n"
    f"\\bibliography{{refs}}\n{SENTENCE}~"
)
BIB = (
    "@misc{ours, title={BLEU: a Method for Automatic Evaluation of Machine Translation}}\n"
    "@misc{own, title={A paper of our own}, author={Nobody Known}, year=2001}\n"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language-server")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


def with_editor(
    index: Path, work: Callable[[Editor], Awaitable[None]], *, applies: bool = True, creates: bool = True
) -> str:
    """What an editor does with the server; returns the server's log."""
    log: list[str] = []

    async def run() -> None:
        async with editor(index, applies=applies, creates=creates, stderr=log) as client:
            await work(client)

    asyncio.run(run())
    return log[0]


def test_citations_are_completed_in_latex_and_markdown(index: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    tex, markdown = (tmp_path / "paper.tex").as_uri(), (tmp_path / "paper.md").as_uri()

    async def work(client: Editor) -> None:
        client.open(tex, LATEX, "latex")
        client.open(markdown, "", "markdown")
        items = await client.complete_at_end(tex, LATEX + "\\cite{")
        assert items[0].label == "ours"
        assert items[0].detail == "Papineni et al. (2002)" or items[0].detail is not None
        assert items[0].command is None, "the bibliography has it"
        assert isinstance(items[1].documentation, types.MarkupContent)
        assert items[1].documentation.value.startswith("**")
        assert [item.sort_text for item in items] == sorted(item.sort_text or "" for item in items)
        typed = await client.complete_at_end(tex, LATEX + "\\citep[see][p.~3]{ours, rou")
        assert typed
        assert all((item.filter_text or "").startswith("rou ") for item in typed)
        assert all("rou" in (item.filter_text or "")[3:].lower() for item in typed)
        # The two documents do not mix: without a bibliography, the paper gets a new key.
        items = await client.complete_at_end(markdown, f"{SENTENCE} [@")
        assert items[0].label == "papineni2002bleu"
        assert isinstance(items[0].text_edit, types.TextEdit)
        assert edited(f"{SENTENCE} [@", items[0].text_edit) == f"{SENTENCE} [@papineni2002bleu"
        gap = f"{SENTENCE} [CIT]. We go on."
        client.change(markdown, gap)
        items = await client.complete(markdown, 0, len(SENTENCE) + 4)
        assert isinstance(items[0].text_edit, types.TextEdit)
        assert edited(gap, items[0].text_edit) == f"{SENTENCE} [@papineni2002bleu]. We go on."
        gap = LATEX + "\\cite{?} and more."
        client.change(tex, gap)
        items = await client.complete(tex, 4, len(SENTENCE) + 8)
        assert isinstance(items[0].text_edit, types.TextEdit)
        assert edited(gap, items[0].text_edit) == LATEX + "\\cite{ours} and more."
        assert await client.complete(tex, 4, 3) == []

    log = with_editor(index, work)
    assert "quality" not in log


def test_new_keys_have_the_form_that_the_command_names(index: Path) -> None:
    async def work() -> None:
        async with editor(index, "--cite-keys", "better-bibtex") as client:
            client.open("untitled:1", "", "latex")
            items = await client.complete_at_end("untitled:1", f"{SENTENCE} \\cite{{")
        assert items[0].label == "papineniBLEUMethodAutomatic2002"

    asyncio.run(work())


def test_an_entry_is_added_once_by_an_edit_of_the_editor(index: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB[:-1])
    tex = (tmp_path / "paper.tex").as_uri()
    text = LATEX.replace("BLEU", "ROUGE for summaries") + "\\cite{"

    async def work(client: Editor) -> None:
        client.open(tex, "", "latex")
        items = await client.complete_at_end(tex, text)
        new = next(item for item in items if item.command is not None)
        await client.choose(new)
        await client.choose(new)
        assert len(client.edits) == 1
        [change] = client.edits[0].document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.uri == (tmp_path / "refs.bib").resolve().as_uri()
        assert isinstance(change.edits[0], types.TextEdit)
        written = edited(BIB[:-1], change.edits[0])
        assert written.startswith(BIB)
        assert f"{{{new.label}," in written
        # The editor has not saved the file: the server knows the key nevertheless.
        items = await client.complete_at_end(tex, text)
        assert next(item for item in items if item.label == new.label).command is None
        assert client.messages == []
        for arguments in (
            ["file:///no.tex", "a", "b"],
            [tex, "no such paper", "lee99"],
            [tex, "devlin2019bert", "a, b}"],
            [tex, 7, None],
            [],
            [tex, "devlin2019bert", "ours"],
        ):
            await client.run("cocite.addEntry", *arguments)
        assert len(client.edits) == 1
        assert len(client.messages) == 6
        assert client.messages[0] == "No entry was added: the draft is not open."
        assert "the corpus does not hold the paper" in client.messages[1]
        assert "the key is none that BibTeX can read" in client.messages[2]
        assert "another entry of the bibliography has this key" in client.messages[5]

    with_editor(index, work)
    assert (tmp_path / "refs.bib").read_text() == BIB[:-1], "the editor writes, not the server"


@pytest.mark.parametrize("creates", [True, False])
def test_a_draft_that_names_no_bibliography_gets_one_beside_it(
    index: Path, tmp_path: Path, creates: bool
) -> None:
    uri = (tmp_path / "paper.md").as_uri()

    async def work(client: Editor) -> None:
        client.open(uri, "", "markdown")
        items = await client.complete_at_end(uri, f"{SENTENCE} [@")
        await client.choose(items[0])
        changes = client.edits[0].document_changes or ()
        assert [type(change) for change in changes] == (
            [types.CreateFile, types.TextDocumentEdit] if creates else [types.TextDocumentEdit]
        )
        assert (tmp_path / "references.bib").exists() is not creates
        assert client.messages == [
            "The entry papineni2002bleu is in references.bib, which the draft does not name: "
            'add "bibliography: references.bib" to its front matter.'
        ]

    with_editor(index, work, creates=creates)


def test_an_editor_shows_that_the_server_still_loads_what_the_first_answer_needs(index: Path) -> None:
    async def work(progress: bool) -> list[str]:
        async with editor(index, progress=progress) as client:
            client.open("untitled:1", "", "latex")
            items: list[types.CompletionItem] = []
            until = time.monotonic() + 600
            while (
                not items and time.monotonic() < until
            ):  # the server gives up one that waits long for the index
                items = await client.complete_at_end("untitled:1", f"{SENTENCE} \\cite{{")
            assert items
        return list(client.progress)

    assert asyncio.run(work(True)) == ["create", "begin", "end"]
    assert asyncio.run(work(False)) == []


def test_an_edit_that_the_editor_refuses_is_not_taken_for_made(index: Path, tmp_path: Path) -> None:
    uri = (tmp_path / "paper.md").as_uri()

    async def work(client: Editor) -> None:
        client.open(uri, "", "markdown")
        items = await client.complete_at_end(uri, f"{SENTENCE} [@")
        await client.choose(items[0])
        assert client.messages == ["The editor did not add the entry papineni2002bleu to references.bib."]
        items = await client.complete_at_end(uri, f"{SENTENCE} [@")
        assert items[0].command is not None

    with_editor(index, work, applies=False)


def test_a_key_is_explained(index: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    uri = (tmp_path / "paper.tex").as_uri()

    async def work(client: Editor) -> None:
        client.open(uri, "\\bibliography{refs}\nAs in \\cite{ours, own,none}.", "latex")
        ours, own = await client.hover(uri, 1, 13), await client.hover(uri, 1, 20)
        assert ours is not None
        assert ours.startswith("**BLEU: a Method")
        assert ours.endswith("The corpus holds this paper, as papineni2002bleu.")
        assert own is not None
        assert own.endswith("The corpus does not hold this paper.")
        assert "Nobody Known" in own
        assert await client.hover(uri, 1, 23) == "No .bib file of the draft has the key none."
        assert await client.hover(uri, 1, 1) is None
        assert await client.hover(uri, 99, 99) is None

    with_editor(index, work)


def test_what_cannot_be_read_is_answered_by_nothing(index: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@misc{" + "{" * 100)
    tex, text = (tmp_path / "paper.tex").as_uri(), "We \\emph{write \\begin{itemize} \\item{ $ BLEU \\cite{"

    async def work(client: Editor) -> None:
        client.open(tex, "", "latex")
        client.open("untitled:Untitled-1", f"{SENTENCE} \\cite{{", "latex")
        client.open((tmp_path / "a.py").as_uri(), "\\cite{", "python")
        assert await client.complete_at_end(tex, text + "\n\n\\bibliography{refs}") == []
        client.change(tex, text)
        assert await client.complete(tex, 0, len(text))
        assert await client.complete(tex, 2**31 - 1, 2**31 - 1), "the end is meant"
        assert await client.complete("file:///never/opened.tex", 0, 0) == []
        assert await client.complete((tmp_path / "a.py").as_uri(), 0, 6) == []
        unsaved = await client.complete("untitled:Untitled-1", 0, len(SENTENCE) + 7)
        assert unsaved[0].label == "papineni2002bleu"
        assert unsaved[0].command is None, "no file can be beside it"
        huge = SENTENCE + "\\cite{" + "x " * (1 << 20)
        for _ in range(2):
            client.change(tex, huge)
            assert await client.complete(tex, 0, len(SENTENCE) + 6) == []
        assert client.messages == ["Citations are not completed in a draft of more than 2 MiB; divide it."]
        assert await client.complete_at_end(tex, text), "it is completed again"

    log = with_editor(index, work)
    assert "BLEU" not in log
    assert "Traceback" not in log


def test_a_request_that_is_cancelled_or_outdated_does_not_hold_the_last_one(index: Path) -> None:
    uri = "untitled:1"

    async def work(client: Editor) -> None:
        client.open(uri, "", "latex")
        text = f"{SENTENCE} \\cite{{"
        requests = []
        for typed in ("", "p", "pa", "pap"):
            client.change(uri, text + typed)
            place = types.Position(0, len(text + typed))
            params = types.CompletionParams(types.TextDocumentIdentifier(uri), place)
            requests.append(asyncio.ensure_future(client.text_document_completion_async(params)))
        *outdated, last = await asyncio.wait_for(asyncio.gather(*requests), 120)
        assert isinstance(last, types.CompletionList)
        assert last.items[0].label == "papineni2002bleu"
        assert all(isinstance(answer, types.CompletionList) and answer.is_incomplete for answer in outdated)

    with_editor(index, work)


def test_a_missing_index_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "language-server", "--index", tmp_path / "none")
    assert (code, out) == (2, "")
    assert str(tmp_path / "none") in err

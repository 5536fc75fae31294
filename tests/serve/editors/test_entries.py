from __future__ import annotations

from pathlib import Path

from helpers.language_client import edited
from lsprotocol import types

from cocite_serve.editors.entries import entry_edit, note_of_entry


def test_an_entry_is_appended_whatever_the_editor_has_of_the_file(tmp_path: Path) -> None:
    edit = entry_edit(tmp_path / "my refs.bib", "@misc{lee99,\n}\n", create=True)
    created, append = edit.document_changes or ()
    assert isinstance(created, types.CreateFile)
    assert created.options == types.CreateFileOptions(ignore_if_exists=True)
    assert isinstance(append, types.TextDocumentEdit)
    assert append.text_document.uri == created.uri == (tmp_path / "my refs.bib").as_uri()
    assert append.text_document.version is None
    [change] = append.edits
    assert isinstance(change, types.TextEdit)
    for text in ("", "@misc{a}", "@misc{a}\n", "\n" * 1000):
        assert edited(text, change) == f"{text}\n@misc{{lee99,\n}}\n"


def test_the_author_is_told_of_a_file_that_the_draft_does_not_name() -> None:
    file = Path("/tmp/references.bib")
    assert note_of_entry(file, "lee99", "latex", is_named=True) == ""
    assert "add \\bibliography{references} to it." in note_of_entry(file, "lee99", "latex", is_named=False)
    assert '"bibliography: references.bib"' in note_of_entry(file, "lee99", "markdown", is_named=False)

"""The edit that adds a BibTeX entry to a bibliography, which the editor makes: it may have the file open, unsaved."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from cocite.drafts.draft import Kind

END = 2**31 - 1
"""A line behind the last one of any file. Editors take such a place for the end of the file; the number of its lines
on the disk would be wrong in an editor that has unsaved changes."""


def entry_edit(file: Path, entry: str, *, create: bool) -> types.WorkspaceEdit:
    """The edit that appends an entry to a file.

    Args:
        file: the .bib file.
        entry: in BibTeX.
        create: whether the editor creates the file first.

    Example:
        >>> edit = entry_edit(Path("/tmp/refs.bib"), "@misc{lee99,\\n}\\n", create=False)
        >>> edit.document_changes[0].edits[0].new_text
        '\\n@misc{lee99,\\n}\\n'
    """
    uri = file.absolute().as_uri()
    end = types.Position(END, 0)
    append = types.TextDocumentEdit(
        types.OptionalVersionedTextDocumentIdentifier(uri),
        # The last line may lack its end.
        [types.TextEdit(types.Range(end, end), f"\n{entry}")],
    )
    if not create:
        return types.WorkspaceEdit(document_changes=[append])
    made = types.CreateFile(uri, options=types.CreateFileOptions(ignore_if_exists=True))
    return types.WorkspaceEdit(document_changes=[made, append])


def note_of_entry(file: Path, key: str, kind: Kind, *, is_named: bool) -> str:
    """What the author is told when an entry was added; "" where the draft names the file.

    Example:
        >>> note_of_entry(Path("refs.bib"), "lee99", "latex", is_named=False)
        'The entry lee99 is in refs.bib, which the draft does not name: add \\\\bibliography{refs} to it.'
    """
    if is_named:
        return ""
    how = (
        f"add \\bibliography{{{file.stem}}} to it"
        if kind == "latex"
        else f'add "bibliography: {file.name}" to its front matter'
    )
    return f"The entry {key} is in {file.name}, which the draft does not name: {how}."

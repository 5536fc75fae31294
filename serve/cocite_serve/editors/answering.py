"""What the language server answers, in the terms of its protocol; computed outside of the loop that reads messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from cocite.corpus.bibtex import entry
from cocite.drafts.draft import Kind
from cocite.errors import InputError
from cocite.protocols import NO_ROW
from cocite_serve.editors.completions import Completer, Offer
from cocite_serve.editors.cursor import Spot, find_spot, written_key
from cocite_serve.editors.head import read_head
from cocite_serve.editors.positions import Lines
from cocite_serve.editors.references import References
from cocite_serve.editors.texts import description, escaped, short_reference

ADD_ENTRY = "cocite.addEntry"
"""The command that adds the entry of a chosen paper."""
_MAX_ID, _MAX_KEY = 512, 300
_KEY_SIGNS = frozenset(" \t\r\n,{}\\%#~\"'=()")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as the editor has it now.

    Example:
        >>> Document("file:///a.md", "We parse.", "markdown", None).kind
        'markdown'
    """

    uri: str
    text: str
    kind: Kind
    path: Path | None


@dataclass(frozen=True, slots=True)
class Addition:
    """An entry to add.

    Example:
        >>> Addition(Path("refs.bib"), "@misc{lee99}", "lee99", 3, True).is_named
        True
    """

    file: Path
    entry: str
    key: str
    row: int
    is_named: bool


def completion_list(
    completer: Completer, document: Document, spot: Spot, lines: Lines
) -> types.CompletionList:
    """The items for a citation.

    A new list is asked for with each letter that is typed; until it is there, the editor chooses among the items by
    a text that begins with what is typed already.
    """
    offers, references = completer.offers(document.text, spot, document.kind, document.path)
    replaced = lines.range(spot.start, spot.end)
    before = document.text[spot.start : lines.offset(replaced.end)]
    items = [
        _item(offer, number, document, spot, replaced, before, references)
        for number, offer in enumerate(offers)
    ]
    return types.CompletionList(is_incomplete=True, items=items)


def hover(completer: Completer, document: Document, at: int, lines: Lines) -> types.Hover | None:
    """What the bibliography and the corpus know of the key at a place; None: there is no key."""
    spot = find_spot(document.text, at, document.kind)
    if spot is None or spot.before:
        return None
    key = document.text[spot.start : spot.end].strip()
    if not key or " " in key or "\n" in key:
        return None
    references = completer.files.of(document.path, read_head(document.text, document.kind))
    row = {**references.added, **references.bibliography.rows}.get(key, NO_ROW)
    corpus = completer.recommender.index.corpus
    paper = references.bibliography.entries.get(key)
    if paper is None and row != NO_ROW:
        [paper] = corpus.papers_at([row])
    if paper is None:
        text = f"No .bib file of the draft has the key {escaped(key)}."
    else:
        held = "The corpus holds this paper" if row != NO_ROW else "The corpus does not hold this paper"
        number = f", as {escaped(corpus.ids([row])[0])}" if row != NO_ROW else ""
        text = description(paper, [f"{held}{number}."])
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, lines.range(spot.start, spot.end))


def addition(completer: Completer, document: Document, id_: object, key: object) -> Addition | None:
    """The entry of a paper under a key; None: the bibliography has the paper already.

    Raises:
        InputError: there is no such paper, the key cannot be one or is another paper's, or the draft has no place.
    """
    if not isinstance(id_, str) or not isinstance(key, str) or len(id_) > _MAX_ID:
        raise InputError("takes the address of a draft, the id of a paper and a key", where=ADD_ENTRY)
    if not 0 < len(key) <= _MAX_KEY or _KEY_SIGNS & set(key) or not key.isprintable():
        raise InputError("the key is none that BibTeX can read", where=ADD_ENTRY)
    recommender = completer.recommender
    [row] = recommender.index.corpus.find([id_]).tolist()
    if row < 0:
        raise InputError(
            "the corpus does not hold the paper", where=ADD_ENTRY, hint="ask for completions again"
        )
    references = completer.files.of(document.path, read_head(document.text, document.kind))
    if row in references.keys_of_rows:
        return None
    if references.file is None:
        raise InputError(
            "the draft has no file yet, beside which a bibliography could be",
            where=ADD_ENTRY,
            hint="save it first",
        )
    if key in references.taken:
        raise InputError(
            "another entry of the bibliography has this key",
            where=ADD_ENTRY,
            hint="ask for completions again",
        )
    [paper] = recommender.index.corpus.papers_at([row])
    return Addition(references.file, entry(paper, key), key, row, references.is_named)


def _item(
    offer: Offer,
    number: int,
    document: Document,
    spot: Spot,
    replaced: types.Range,
    before: str,
    references: References,
) -> types.CompletionItem:
    paper = offer.paper
    file = references.file
    can_add = offer.is_new and file is not None
    notes = []
    if can_add and file is not None:
        named = "" if references.is_named else ", which the draft does not name yet"
        notes = [f"Choosing it adds its entry to {escaped(file.name)}{named}."]
    return types.CompletionItem(
        label=offer.key,
        label_details=types.CompletionItemLabelDetails(description=paper.title[:80]),
        kind=types.CompletionItemKind.Reference,
        detail=short_reference(paper),
        documentation=types.MarkupContent(
            types.MarkupKind.Markdown, description(paper, notes, offer.evidence)
        ),
        sort_text=f"{number:04d}",
        filter_text=" ".join(
            part
            for part in (before, offer.key, paper.title, *paper.authors[:8], str(paper.year or ""))
            if part
        ),
        text_edit=types.TextEdit(replaced, written_key(offer.key, spot, document.kind)),
        command=types.Command("Add the entry", ADD_ENTRY, arguments=[document.uri, paper.id, offer.key])
        if can_add
        else None,
    )

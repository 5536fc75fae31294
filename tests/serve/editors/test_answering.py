from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from cocite.errors import InputError
from cocite_serve.editors.answering import Document, addition, completion_list, hover
from cocite_serve.editors.completions import Completer
from cocite_serve.editors.cursor import find_spot
from cocite_serve.editors.positions import Lines

TEXT = "\U0001f600 The quality of translations is measured by BLEU \\cite{pap"


def test_an_item_is_kept_by_an_editor_that_compares_it_with_what_is_typed(completer: Completer) -> None:
    document = Document("untitled:1", TEXT, "latex", None)
    spot, lines = find_spot(TEXT, len(TEXT), "latex"), Lines(TEXT, PositionCodec())
    assert spot is not None
    answer = completion_list(completer, document, spot, lines)
    assert answer.is_incomplete
    for item in answer.items:
        assert isinstance(item.text_edit, types.TextEdit)
        assert item.text_edit.new_text == item.label
        start, end = item.text_edit.range.start, item.text_edit.range.end
        assert (start.line, end.line, end.character - start.character) == (0, 0, 3)
        assert end.character == len(TEXT) + 1, "the face is two units"
        assert (item.filter_text or "").startswith("pap ")
    first = answer.items[0]
    assert first.detail == "Papineni et al. (2002)"
    assert "BLEU: a Method" in (first.filter_text or "")
    assert isinstance(first.documentation, types.MarkupContent)
    assert "- shared words: " in first.documentation.value


def test_an_entry_is_made_for_a_paper_of_the_corpus_alone(completer: Completer, tmp_path: Path) -> None:
    document = Document("file:///a", "\\bibliography{refs}", "latex", tmp_path / "a.tex")
    added = addition(completer, document, "devlin2019bert", "mine")
    assert added is not None
    assert added.entry.startswith("@")
    assert "{mine," in added.entry
    assert (added.file, added.is_named) == (tmp_path / "refs.bib", True)
    (tmp_path / "refs.bib").write_text(added.entry)
    assert addition(completer, document, "devlin2019bert", "other") is None


@pytest.mark.parametrize(
    ("id_", "key", "sentence"),
    [
        (None, "a", "takes the address of a draft, the id of a paper and a key"),
        ("a" * 513, "a", "takes the address of a draft"),
        ("devlin2019bert", "", "the key is none that BibTeX can read"),
        ("devlin2019bert", "a}", "the key is none that BibTeX can read"),
        ("devlin2019bert", "a\n", "the key is none that BibTeX can read"),
        ("devlin2019bert", "a" * 301, "the key is none that BibTeX can read"),
        ("nobody", "a", "the corpus does not hold the paper"),
        ("devlin2019bert", "a", "the draft has no file yet"),
    ],
)
def test_a_wrong_command_is_refused(completer: Completer, id_: object, key: object, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^cocite.addEntry: {sentence}"):
        addition(completer, Document("untitled:1", "", "latex", None), id_, key)


def test_a_gap_has_no_key_to_explain(completer: Completer) -> None:
    for text in ("We [CIT].", "\\cite{}", "We parse."):
        document = Document("untitled:1", text, "latex", None)
        assert hover(completer, document, 6, Lines(text, PositionCodec())) is None


def test_a_key_shows_its_paper_in_braces_and_markdown(completer: Completer, tmp_path: Path) -> None:
    (tmp_path / "references.bib").write_text("@misc{a_b, title={BERT *and* others}, year={1999}}")
    text = "As @{a_b} says"
    document = Document("file:///a", text, "markdown", tmp_path / "a.md")
    found = hover(completer, document, 6, Lines(text, PositionCodec()))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert found.contents.value.startswith("**BERT \\*and\\* others**\n\n1999\n\n")
    assert found.range == types.Range(types.Position(0, 5), types.Position(0, 8))

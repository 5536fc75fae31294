from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cocite.corpus.records import PaperRecord
from cocite.pipeline.evidence import CitingPaper, CitingSentence, Evidence, SharedWord
from cocite_serve.editors.texts import description, escaped, short_reference


def test_authors_are_named_as_a_text_names_them() -> None:
    names = [(), ("Ann Lee",), ("Ludwig van Beethoven", "Kim, Bo"), ("A B", "C D", "E F"), ("Google, Inc.",)]
    said = [short_reference(PaperRecord("a", "t", authors=authors, year=1999)) for authors in names]
    assert said == [
        "(1999)",
        "Lee (1999)",
        "van Beethoven and Kim (1999)",
        "B et al. (1999)",
        "Google, Inc. (1999)",
    ]
    assert short_reference(PaperRecord("a", "t")) == ""


def test_reasons_and_notes_follow_the_paper() -> None:
    evidence = Evidence(
        (SharedWord("parsing", 2.0),),
        (CitingPaper("b", "A survey", 2001),),
        (CitingSentence("We parse TARGETCIT as OTHERCIT.", "b", "A survey", 2001),),
    )
    text = description(PaperRecord("a", "Trees", venue="ACL"), ["A note."], evidence)
    assert text == (
        "**Trees**\n\nACL\n\n- shared words: parsing\n- cited by the similar paper A survey\n"
        "- cited as: We parse \\[CIT\\] as \\[…\\].\n\nA note."
    )


@given(st.text(st.sampled_from("ab <>*_`[](){}#+-!|\\&;~$\n:/"), max_size=40))
def test_words_of_the_corpus_are_shown_and_are_no_markup(text: str) -> None:
    [paragraph] = [t for t in MarkdownIt("commonmark").parse(f"x{escaped(text)}x") if t.type == "inline"]
    assert {child.type for child in paragraph.children or ()} == {"text"}
    assert "".join(child.content for child in paragraph.children or ()) == f"x{' '.join(text.split())}x"


def test_a_long_text_is_cut() -> None:
    assert len(escaped("x" * 10_000)) < 500

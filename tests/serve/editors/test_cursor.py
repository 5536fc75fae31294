from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.editors.cursor import MAX_TYPED, find_spot, kind_of, written_key

LATEX = [
    ("\\cite{|", "", "\\cite{KEY", ()),
    ("\\cite{att|", "att", "\\cite{KEY", ()),
    ("\\cite{att|ention}", "att", "\\cite{KEY}", ()),
    ("\\citep[see][p.~3]{a,b, att|, c}", "att", "\\citep[see][p.~3]{a,b, KEY, c}", ("a", "b", "c")),
    ("\\textcites(see)()[1]{lee99}[2]{|}", "", "\\textcites(see)()[1]{lee99}[2]{KEY}", ()),
    ("\\Citet*{attention is|}", "attention is", "\\Citet*{KEY}", ()),
    ("\\cite{?|}", "", "\\cite{KEY}", ()),
    ("\\cite{|?}", "", "\\cite{KEY}", ()),
    ("\\cite{|TODO}", "", "\\cite{KEY}", ()),
    ("\\cite{lee99,\n  ki|}", "ki", "\\cite{lee99,\n  KEY}", ("lee99",)),
    ("It helps [C|IT].", "", "It helps \\cite{KEY}.", ()),
    ("It helps (citation needed)|.", "", "It helps \\cite{KEY}.", ()),
    ("100\\% \\cite{|}", "", "100\\% \\cite{KEY}", ()),
    ("See \\url{a.org/b%20c} \\cite{|}", "", "See \\url{a.org/b%20c} \\cite{KEY}", ()),
    ("Of \\verb+%+ \\cite{|}", "", "Of \\verb+%+ \\cite{KEY}", ()),
]  # fmt: skip
MARKDOWN = [
    ("[@|", "", "[@KEY", ()),
    ("[see @lee99, p. 3; @att|]", "att", "[see @lee99, p. 3; @KEY]", ("lee99",)),
    ("[@attention is| ]", "attention is", "[@KEY ]", ()),
    ("[-@{att|}]", "att", "[-@{KEY}]", ()),
    ("As @att| says", "att", "As @KEY says", ()),
    ("[@?|]", "", "[@KEY]", ()),
    ("[@at|tention; @lee99]", "at", "[@KEY; @lee99]", ("lee99",)),
    ("It helps [?|].", "", "It helps [@KEY].", ()),
]
NOWHERE = [
    ("latex", "We parse|."),
    ("latex", "% as in \\cite{|}"),
    ("latex", "\\url{a.org/b%20c} % as in \\cite{|}"),
    ("latex", "\\cite{lee99}|"),
    ("latex", "\\citestyle{|}"),
    ("latex", "\\cite{\n\nA new paragraph|"),
    ("latex", "\\cite{" + "x" * (MAX_TYPED + 1) + "|"),
    ("markdown", "lee@uni|"),
    ("markdown", "at \\@lee|"),
    ("markdown", "As @lee says so|"),
    ("markdown", "[@lee99]|"),
]


@pytest.mark.parametrize(
    ("kind", "marked", "typed", "after", "kept"),
    [("latex", *row) for row in LATEX] + [("markdown", *row) for row in MARKDOWN],
)
def test_a_key_replaces_what_is_typed_of_it(
    kind: str, marked: str, typed: str, after: str, kept: tuple[str, ...]
) -> None:
    at, text = marked.index("|"), marked.replace("|", "")
    spot = find_spot(text, at, kind)
    assert spot is not None
    assert spot.typed == typed
    assert text[: spot.start] + written_key("KEY", spot, kind) + text[spot.end :] == after
    assert spot.kept == kept
    assert spot.outer_start <= spot.start <= at <= spot.end <= spot.outer_end


@pytest.mark.parametrize(("kind", "marked"), NOWHERE)
def test_nothing_is_completed_elsewhere(kind: str, marked: str) -> None:
    assert find_spot(marked.replace("|", ""), marked.index("|"), kind) is None


PIECES = st.sampled_from(
    ["\\cite", "\\citep[", "]", "{", "}", "[@", "@", "; ", ",", "[CIT]", "?", "\n", "\n\n", "%",
     "\\", "lee99", " ", "é", "\U0001f600"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25), st.integers(0, 100), st.sampled_from(["latex", "markdown"]))
def test_a_spot_lies_around_the_cursor(pieces: list[str], at: int, kind: str) -> None:
    text = "".join(pieces)
    at = min(at, len(text))
    spot = find_spot(text, at, kind)
    if spot is not None:
        assert 0 <= spot.outer_start <= spot.start <= at <= spot.end <= spot.outer_end <= len(text)
        assert "\n" not in text[spot.start : at]
        assert spot.typed in text


def test_the_kind_is_that_of_the_language_else_of_the_name() -> None:
    assert kind_of("rmd", "a") == "markdown"
    assert kind_of("LaTeX", "a") == kind_of("plaintex", "a") == "latex"
    assert kind_of(None, "/tmp/a.Qmd") == "markdown"
    assert kind_of("latex", "a.md") == "latex"
    assert kind_of(None, "a.docx") is None
    assert kind_of("python", "a.py") is None


def test_a_key_that_pandoc_would_cut_is_put_into_braces() -> None:
    text = "[@"
    spot = find_spot(text, 2, "markdown")
    assert spot is not None
    assert written_key("a;b", spot, "markdown") == "{a;b}"
    spot = find_spot("[@{", 3, "markdown")
    assert spot is not None
    assert written_key("a;b", spot, "markdown") == "a;b}"

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers.jats import plain_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("Plain\n text", "Plain text"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One. Two."),
        ("<jats:title>ABSTRACT</jats:title><jats:p>One.</jats:p>", "One."),
        ("<jats:sec><jats:title>Background</jats:title><jats:p>One.</jats:p></jats:sec>", "Background One."),
        ("<jats:title>Abstract <i>interpretation</i></jats:title>", "Abstract interpretation"),
        ("On <i>n</i><sup>2</sup> &amp; H<jats:sub>2</jats:sub>O", "On n2 & H2O"),
        ('<mml:math display="inline"><mml:mi>x</mml:mi></mml:math>', "x"),
        (
            "as <jats:tex-math>\\documentclass{a} <b>$x$</b></jats:tex-math><mml:mi>x</mml:mi> is",
            "as x is",
        ),
        ("a<jats:tex-math/>b", "ab"),
        ("no end <jats:tex-math>x", "no end"),
        ("a<break/>b<br />c", "a b c"),
        ("p < 0.05 and q > 3", "p < 0.05 and q > 3"),
        ("&lt;i&gt; is a tag", "<i> is a tag"),
    ],
)
def test_markup_becomes_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=30)


@given(st.lists(TEXTS, max_size=4), st.sampled_from(["jats:p", "p", "jats:list-item"]))
def test_escaped_text_within_blocks_comes_back(paragraphs: list[str], tag: str) -> None:
    markup = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in paragraphs)
    assert plain_text(markup) == " ".join(" ".join(paragraphs).split())


@given(st.text("<>/&; ajts:p-mex\"='", max_size=200))
def test_any_text_is_read(markup: str) -> None:
    assert "  " not in plain_text(markup)

"""The marks of a missing citation."""

from __future__ import annotations

import time

import pytest
from helpers.gap_marks import GAPS, NO_GAPS

from cocite.drafts.gaps import GAP, filled_command, is_missing, kept_keys, lacks_key, text_gaps
from cocite.drafts.reading import read_text


@pytest.mark.parametrize("mark", GAPS)
def test_every_form_of_a_gap_is_found_once(mark: str) -> None:
    assert [match.group() for match in text_gaps(f"Before {mark} behind [12] (cited).")] == [mark]


@pytest.mark.parametrize("text", NO_GAPS)
def test_what_cites_or_says_something_else_is_no_gap(text: str) -> None:
    assert list(text_gaps(f"We parse {text}, as said.")) == []


@pytest.mark.parametrize("mark", GAPS)
@pytest.mark.parametrize("kind", ["markdown", "text"])
def test_every_reader_finds_each_form(mark: str, kind: str) -> None:
    text = f"We parse {mark} as said."
    [gap] = read_text(text, kind).gaps  # type: ignore[arg-type]
    # Of a group of Pandoc's keys the key alone is missing.
    assert text[gap.place.start : gap.place.end].strip("[]") == mark.strip("[]")
    assert gap.context == "We parse TARGETCIT as said."
    assert gap.kept == kept_keys(mark)


@pytest.mark.parametrize("mark", [mark for mark in GAPS if mark.startswith("\\")])
def test_latex_has_a_gap_where_other_texts_have_one(mark: str) -> None:
    draft = read_text(f"We parse {mark}, as said.", "latex")
    assert len(draft.gaps) == 1
    assert {citation.key for citation in draft.citations} == {*kept_keys(mark)}


@pytest.mark.parametrize("mark", [mark for mark in NO_GAPS if mark.startswith("\\")])
def test_latex_has_none_where_other_texts_have_none(mark: str) -> None:
    assert read_text(f"We parse {mark}, as said.", "latex").gaps == ()


def test_keys_that_are_missing() -> None:
    assert all(map(is_missing, ("", " ? ", "??", "todo", "CIT", "xxx")))
    assert not any(map(is_missing, ("lee99", "cite:lee", "todorov2020", "citron")))
    assert [lacks_key(keys) for keys in (["a", ""], ["a", "?"], ["", ""])] == [False, True, True]


@pytest.mark.parametrize(
    ("mark", "filled"),
    [
        (r"\cite{}", r"\cite{KEY}"),
        (r"\citep[see][p.~3]{?}", r"\citep[see][p.~3]{KEY}"),
        (r"\cite{lee, ?, kim}", r"\cite{lee, KEY, kim}"),
        (r"\cite{lee,TODO,?}", r"\cite{lee,KEY}"),
        (r"\cite{KEY,?}", r"\cite{KEY}"),
        (r"\cites(a)(b)[c]{lee}[d]{?}{?}", r"\cites(a)(b)[c]{lee}[d]{KEY}{?}"),
        (r"\cites{lee,}{?}", r"\cites{lee,}{KEY}"),
        (r"\todo[inline]{cite}", r"\cite{KEY}"),
    ],
)
def test_a_command_gets_the_key_and_keeps_the_others(mark: str, filled: str) -> None:
    assert filled_command(mark, ["KEY"]) == filled


def test_unclosed_lists_of_keys_cost_little() -> None:
    for text in (
        "\\cite{" + "?," * 40_000,
        ("\\cite{" + "?," * 30) * 1_000,
        "\\cite{" + ("x" * 199 + ",") * 400,
        "\\cites" + "{a}" * 30_000,
        ("\\cites" + "[a][b]{a}" * 9) * 1_000,
        "\\cites(" * 10_000,
    ):
        began = time.process_time()
        assert GAP.search(text) is None
        assert time.process_time() - began < 2

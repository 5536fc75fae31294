from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.cleaning import Cleaner, repair
from cocite.corpus.hits import ShareLog, StrictHitError
from cocite.corpus.records import PaperRecord
from cocite.corpus.rules import Limits
from cocite.corpus.streams import SourcePosition

ANY = st.text(st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF), max_size=40)


@given(ANY)
def test_repaired_text_is_sound_and_stays_as_it_is(text: str) -> None:
    fixed, _ = repair(text)
    fixed.encode("utf-8")
    assert unicodedata.is_normalized("NFC", fixed)
    assert not any(c == "\ufffd" or (unicodedata.category(c) == "Cc" and c not in "\t\n") for c in fixed)
    assert repair(fixed) == (fixed, False)


@pytest.mark.parametrize(
    ("text", "fixed", "broken"),
    [
        ("plain", "plain", False),
        ("Zu\u0308rich", "Z\u00fcrich", False),
        ("a\r\nb\tc\rd", "a\nb\tc\nd", False),
        ("a\x00b", "a b", True),
        ("\x8eabokrtsk\u00fd", "\u017dabokrtsk\u00fd", True),
        ("x\ud800y\ufffdz", "xyz", True),
        ("page\x0cbreak", "page break", True),
    ],
)
def test_repair(text: str, fixed: str, broken: bool) -> None:
    assert repair(text) == (fixed, broken)


def clean(record: PaperRecord, *, strict: bool = False) -> tuple[bool, dict[str, int]]:
    log = ShareLog(strict=strict)
    kept = Cleaner(Limits(last_year=2027), log).paper(record, SourcePosition("f.jsonl", 7))
    return kept, {hit.rule: hit.times for hit in log.hits}


def test_each_rule_of_a_paper_alone() -> None:
    record = PaperRecord("p", "A\x01 title ", "x" * 30_000, year=1200, authors=(" A ", "", "B"))
    assert clean(record) == (True, {"absurd_year": 1, "broken_unicode": 1, "too_long": 1})
    assert (record.title, record.year, len(record.abstract), record.authors) == (
        "A  title",
        0,
        20_000,
        ("A", "B"),
    )
    assert clean(PaperRecord("p", " \t ")) == (False, {"empty_title": 1})
    assert clean(PaperRecord("", "t")) == (False, {"missing_id": 1})
    assert clean(PaperRecord("i" * 600, "t")) == (False, {"missing_id": 1})
    assert clean(PaperRecord("p", "t", year=2027)) == (True, {})
    assert clean(PaperRecord("p", "t", year=2028)) == (True, {"absurd_year": 1})


def test_strict_ends_with_the_first_hit() -> None:
    with pytest.raises(StrictHitError, match="the year 3000"):
        clean(PaperRecord("p", "t", year=3000), strict=True)

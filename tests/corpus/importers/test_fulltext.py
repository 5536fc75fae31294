from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers.fulltext import WINDOW, Mention, body_records, split_sentences
from cocite.corpus.records import OTHER_MARK, TARGET_MARK, ContextRecord, SentenceRecord


def test_sentences_end_where_they_end() -> None:
    text = "As Wu et al. Show, it is e.g. Possible. See Fig. 3 for J. Doe! Is it? (Yes.) 42 is."
    assert split_sentences(text) == [
        "As Wu et al. Show, it is e.g. Possible.",
        "See Fig. 3 for J. Doe!",
        "Is it?",
        "(Yes.",
        "42 is.",
    ]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), max_size=8))
def test_any_spans_give_whole_contexts(spans: list[tuple[int, int]]) -> None:
    text = "Word after word, and so on. " * 3
    mentions = [Mention(start, start + size, f"p{start}") for start, size in spans]
    found = list(body_records("x", text, [(0, len(text), "S")], mentions))
    contexts = [r for r in found if isinstance(r, ContextRecord)]
    assert all(c.text.count("TARGETCIT") == 1 for c in contexts)
    assert len({c.group for c in contexts}) == len(contexts)
    body = " ".join(r.text for r in found if isinstance(r, SentenceRecord))
    assert all(f"[[CIT:{c.group}]]" in body for c in contexts)


@given(st.lists(st.tuples(st.integers(0, 450), st.integers(1, 30)), max_size=12), st.integers(0, 100))
def test_a_context_is_the_window_of_the_masked_text(spans: list[tuple[int, int]], start: int) -> None:
    """The window is cut out before the masks are put in, so that the time does not grow with the paragraph."""
    text = "".join(f"w{number:03d} " for number in range(100))
    mentions = [Mention(begin, begin + size, f"p{begin}") for begin, size in spans]
    found = list(body_records("x", text, [(start, len(text), "S")], mentions))
    body = next((r.text for r in found if isinstance(r, SentenceRecord)), "")
    for context in (r for r in found if isinstance(r, ContextRecord)):
        left, right = body.split(f"[[CIT:{context.group}]]")
        left, right = (re.sub(r"\[\[CIT:\d+\]\]", OTHER_MARK, side) for side in (left, right))
        window = f"{left[-WINDOW:].lstrip()} {TARGET_MARK} {right[:WINDOW].rstrip()}"
        assert context.text == window.replace("  ", " ").strip()

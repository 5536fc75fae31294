from __future__ import annotations

import pytest

from cocite.text.paper_text import paper_text


@pytest.mark.parametrize(
    ("title", "abstract", "text"),
    [
        ("A survey", "We review.", "A survey. We review."),
        (" A survey ", "", "A survey"),
        ("", "We review.", "We review."),
        (None, " ", ""),
        ("A survey", None, "A survey"),
    ],
)
def test_a_full_stop_joins_what_there_is(title: str | None, abstract: str | None, text: str) -> None:
    assert paper_text(title, abstract) == text

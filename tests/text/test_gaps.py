from __future__ import annotations

import pytest

from cocite.text.gaps import strip_marks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as in TARGETCIT , and OTHERCIT.", "as in , and ."),
        ("see [CIT] or [OTHERCIT]", "see or"),
        ("see [[CIT]]", "see [ ]"),
        ("methodTARGETCIT and CIT stay", "method and CIT stay"),
        ("TARGETCIT", ""),
        ("", ""),
        ("two\n lines", "two lines"),
    ],
)
def test_marks_go_and_words_stay(text: str, expected: str) -> None:
    assert strip_marks(text) == expected

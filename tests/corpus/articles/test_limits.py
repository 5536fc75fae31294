"""The budget of reading a file."""

from __future__ import annotations

import pytest

from cocite.corpus.articles.limits import MAX_TEXT_BYTES, ReadingBudget
from cocite.errors import InputError


def test_text_is_bounded() -> None:
    budget = ReadingBudget("a.pdf")
    budget.read(MAX_TEXT_BYTES)
    with pytest.raises(InputError, match=r"a\.pdf: the PDF has more than 2 MiB of text \(leave it out"):
        budget.read(1)


def test_time_is_bounded() -> None:
    ReadingBudget("a.pdf").check_time()
    with pytest.raises(InputError, match=r"a\.pdf: reading the PDF takes more than -1 s"):
        ReadingBudget("a.pdf", seconds=-1.0).check_time()

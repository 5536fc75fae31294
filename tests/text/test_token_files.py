"""Lists of tokens in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.errors import IntegrityError
from cocite.text.token_files import TokenListWriter, load_token_lists
from cocite.text.token_lists import TokenLists


def test_lists_come_back_without_the_tokens_that_belong_to_none(tmp_path: Path) -> None:
    lists = TokenLists.of([[1, 2, 3], [], [4, 70_000]])
    with TokenListWriter(tmp_path, "texts", vocabulary=70_001) as writer:
        writer.add(lists.head(2))
        writer.add(lists.take(np.array([2, 2])).tail(1))
        assert writer.length == 5
    found = load_token_lists(tmp_path, "texts")
    assert [found[i].tolist() for i in range(5)] == [[1, 2], [], [4, 70_000], [70_000], [70_000]]
    assert len(found.ids) == 6
    assert isinstance(found.ids, np.memmap)


def test_no_lists_are_read_as_none(tmp_path: Path) -> None:
    with TokenListWriter(tmp_path, "texts", vocabulary=9):
        pass
    assert len(load_token_lists(tmp_path, "texts")) == 0


@pytest.mark.parametrize("part", ["ids", "counts"])
def test_arrays_of_different_lengths_are_refused(tmp_path: Path, part: str) -> None:
    with TokenListWriter(tmp_path, "texts", vocabulary=9) as writer:
        writer.add(TokenLists.of([[1, 2], [3]]))
    np.save(tmp_path / f"texts.{part}.npy", np.array([1], np.int32))
    with pytest.raises(IntegrityError, match="the arrays of texts do not fit each other"):
        load_token_lists(tmp_path, "texts")

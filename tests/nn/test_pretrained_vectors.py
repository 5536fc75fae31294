"""Word vectors from text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.errors import InputError
from cocite.nn.pretrained_vectors import read_vectors
from cocite.text.vocabulary import Vocabulary


def test_pretrained_vectors_are_read_in_both_formats(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["b", "a", "z"], np.ones(3))
    for head in ("2 3\n", ""):
        (tmp_path / "v.txt").write_text(f"{head}a 1 2 3\nother 9 9 9\nb 4 5 6\na 7 7 7\n")
        found, vectors = read_vectors(tmp_path / "v.txt", vocabulary, 3)
        assert found.tolist() == [True, True, False]
        assert vectors.tolist() == [[4, 5, 6], [1, 2, 3], [0, 0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\n", r"v\.txt:1: not 3 finite numbers .*dimension to 2"),
        ("b 1 2 3\na 1 nan 3\n", r"v\.txt:2: not 3 finite"),
        ("a 1 x 3\n", r"v\.txt:1: holds something that is no number"),
        ("q 1 2 3\n", "none of the vocabulary's words"),
    ],
)
def test_bad_vector_files_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "v.txt", Vocabulary(["a", "b"], np.ones(2)), 3)

"""Word vectors from a text file (word2vec or GloVe), for a vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError, NotFoundError
from cocite.text.vocabulary import Vocabulary


def read_vectors(
    path: str | Path, vocabulary: Vocabulary, dimension: int
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Read the vectors of a vocabulary's words.

    Each line is a word and ``dimension`` numbers, separated by blanks; a first line of two numbers (word2vec's count
    and dimension) is skipped. The first vector of a word counts.

    Args:
        path: the text file.
        vocabulary: V words.
        dimension: d.

    Returns:
        (V,) whether the file has a word; (V, d) the word's vector, zero where it has not.

    Raises:
        NotFoundError: there is no such file.
        InputError: a line is not a word with ``dimension`` finite numbers, or the file has none of the words.

    Example:
        >>> import tempfile
        >>> vocabulary = Vocabulary(("query", "rank"), np.array([3, 2]))
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("rank 0.5 -1\\nother 1 1\\n")
        ...     file.flush()
        ...     has_vector, vectors = read_vectors(file.name, vocabulary, 2)
        >>> has_vector, vectors[1]
        (array([False,  True]), array([ 0.5, -1. ], dtype=float32))
    """
    path = Path(path)
    numbers = {word: i for i, word in enumerate(vocabulary.types)}
    has_vector = np.zeros(len(vocabulary), bool)
    vectors = np.zeros((len(vocabulary), dimension), np.float32)
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, _, rest = line.rstrip("\n").partition(" ")
                i = numbers.get(word)
                # word2vec's text format begins with the numbers of words and of dimensions, GloVe's does not.
                if (number == 1 and len(rest.split()) == 1) or i is None or has_vector[i]:
                    continue
                try:
                    vector = np.array(rest.split(), np.float32)
                except ValueError as error:
                    raise InputError("holds something that is no number", where=f"{path}:{number}") from error
                if len(vector) != dimension or not np.isfinite(vector).all():
                    raise InputError(
                        f"not {dimension} finite numbers after the word",
                        where=f"{path}:{number}",
                        hint=f"set model.dimension to {len(vector)} if all lines are alike",
                    )
                vectors[i], has_vector[i] = vector, True
    except FileNotFoundError as error:
        raise NotFoundError("no such file", where=str(path)) from error
    if not has_vector.any():
        raise InputError("holds none of the vocabulary's words", where=str(path))
    return has_vector, vectors

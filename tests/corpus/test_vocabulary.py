from __future__ import annotations

import numpy as np

from cocite.corpus.vocabulary import words


def test_words_are_distinct() -> None:
    assert len(set(words(np.arange(300_000)).tolist())) == 300_000

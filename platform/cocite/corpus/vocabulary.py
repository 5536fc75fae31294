"""Made-up words, names and venues for synthetic corpora: pronounceable, distinct, the same from the same number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fl gr pl pr sl st tr".split()
_RIMES = "a e i o u an el in or ux ar en il on um".split()
# No rime ends as an onset of two consonants begins, so a word is cut into syllables in one way only.
_SYLLABLES = np.array([onset + rime for onset in _ONSETS for rime in _RIMES])
_CAPITALIZED = np.array([syllable.capitalize() for syllable in _SYLLABLES.tolist()])
COMMON = (
    "the of and to in a is that for we it as with on are by this be from which an can at our or not have these "
    "model method data results approach paper show using based problem system task performance propose present "
    "different set new used two one both also more than each such between over when where into results work "
    "learning evaluation training analysis experiments number large general information structure language"
).split()
"""Words of all topics, most frequent first."""


def words(numbers: NDArray[np.integer], first: NDArray[np.str_] = _SYLLABLES) -> NDArray[np.str_]:
    """A word for each number, which begins with one of the ``first``; different numbers give different words."""
    numbers = np.asarray(numbers, np.int64)
    size = len(_SYLLABLES)
    # Two syllables, three when those run out; the multiplier (coprime to size) keeps neighbours from looking alike.
    pair = numbers % size**2 * 7919 % size**2
    third = numbers // size**2
    two = np.char.add(first[pair % size], _SYLLABLES[pair // size])
    return np.where(third > 0, np.char.add(two, _SYLLABLES[third % size]), two)


def sentences(rows: list[NDArray[np.integer]], vocabulary: pa.Array) -> list[pa.Array]:
    """Texts of word numbers: for each (n, length) array, n strings of space-separated words."""
    result = []
    for numbers in rows:
        count, length = numbers.shape
        flat = vocabulary.take(pa.array(numbers.ravel(), pa.int32()))
        offsets = pa.array(np.arange(count + 1, dtype=np.int32) * length)
        result.append(pc.binary_join(pa.ListArray.from_arrays(offsets, flat), " "))
    return result


def names(numbers: NDArray[np.integer]) -> NDArray[np.str_]:
    """A person's name for each number."""
    numbers = np.asarray(numbers, np.int64)
    size = len(_SYLLABLES)
    # Not `np.char.capitalize`, which calls Python for each name: a Ctrl-C in it becomes a TypeError of NumPy's.
    given = np.char.add(_CAPITALIZED[numbers * 7 % size], _SYLLABLES[numbers // 3 % size])
    family = words(numbers + 11, _CAPITALIZED)
    return np.char.add(np.char.add(given, " "), family)

"""Titles in a form by which they are compared."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def normal_titles(titles: pa.Array | pa.ChunkedArray) -> Any:
    """Titles in lower case, without accents, and with one space in place of what is neither letter nor digit.

    Example:
        >>> import pyarrow as pa
        >>> from cocite.corpus.title_forms import normal_titles
        >>> normal_titles(pa.array(["BERT: Pré-training", "bert pre training!"])).to_pylist()
        ['bert pre training', 'bert pre training']
    """
    folded = pc.utf8_lower(pc.utf8_normalize(pc.cast(titles, pa.string()), form="NFKD"))
    folded = pc.replace_substring_regex(folded, r"\p{M}+", "")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(folded, r"[^\p{L}\p{N}]+", " "))

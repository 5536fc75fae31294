"""Sorts the headings of sections into a few kinds, as DACR reads the section of a gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query

KINDS = (
    ("unknown", ""),
    ("body", "."),
    ("introduction", "introduct|motivation"),
    ("related work", "related|previous|prior|background|stateoftheart|literature"),
    ("experiments", "experiment|evaluat|result|setup|dataset|corpus|corpora"),
    ("conclusion", "conclusion|discussion|futurework|summary"),
)
"""(kind, pattern of its heading without all but letters: headings of PDFs have blanks within words). Where several
patterns match, the last counts."""
UNKNOWN = 0


def section_kinds(headings: pa.Array) -> NDArray[np.int64]:
    """(n,) the position in :data:`KINDS` of each heading; ``UNKNOWN`` for one without a letter.

    Example:
        >>> [KINDS[kind][0] for kind in section_kinds(pa.array(["2 Related W ork", "3 Model", None]))]
        ['related work', 'body', 'unknown']
    """
    letters = pc.replace_substring_regex(
        pc.utf8_lower(headings.fill_null("")), pattern=r"[^\p{L}]+", replacement=""
    )
    result = np.full(len(headings), UNKNOWN, np.int64)
    for kind, (_, pattern) in enumerate(KINDS):
        if pattern:
            matches = pc.match_substring_regex(letters, pattern=pattern)
            result[np.asarray(matches.to_numpy(zero_copy_only=False), bool)] = kind
    return result


def query_sections(corpus: Corpus, queries: Sequence[Query]) -> NDArray[np.int64]:
    """(Q,) the kind of section of each query's gap; ``UNKNOWN`` where its sentence is not in the corpus."""
    result = np.full(len(queries), UNKNOWN, np.int64)
    known = np.array([q.paper != NO_ROW and q.sentence != NO_ROW for q in queries], bool)
    if not known.any():
        return result
    papers = np.array([q.paper for q in queries], np.int64)[known]
    sentences = np.array([q.sentence for q in queries], np.int64)[known]
    starts, ends = corpus.sentence_indptr[papers], corpus.sentence_indptr[papers + 1]
    positions = corpus.sentences.table.column("position")
    position = np.array(
        [
            start + np.searchsorted(positions.slice(start, end - start).to_numpy(), sentence)
            for start, end, sentence in zip(starts.tolist(), ends.tolist(), sentences.tolist(), strict=True)
        ],
        np.int64,
    )
    inside = position < ends
    rows = pa.array(position[inside])
    exists = np.asarray(positions.take(rows).to_numpy()) == sentences[inside]
    headings = corpus.sentences.taken("section", position[inside]).combine_chunks()
    kinds = np.where(exists, section_kinds(headings), UNKNOWN)
    result[np.flatnonzero(known)[inside]] = kinds
    return result

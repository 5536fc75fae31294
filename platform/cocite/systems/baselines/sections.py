"""Headings as a few kinds of sections: what a writer is doing where a citation is wanted."""

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
"""(kind, what its heading holds once all but letters is taken out: headings of PDFs have blanks within words); a later
kind goes before an earlier one."""
UNKNOWN = 0


def section_kinds(headings: pa.Array) -> NDArray[np.int64]:
    """(n,) the place in :data:`KINDS` of each heading; ``UNKNOWN`` for one without a letter."""
    letters = pc.replace_substring_regex(
        pc.utf8_lower(headings.fill_null("")), pattern=r"[^\p{L}]+", replacement=""
    )
    result = np.full(len(headings), UNKNOWN, np.int64)
    for kind, (_, pattern) in enumerate(KINDS):
        if pattern:
            held = pc.match_substring_regex(letters, pattern=pattern)
            result[np.asarray(held.to_numpy(zero_copy_only=False), bool)] = kind
    return result


def query_sections(corpus: Corpus, queries: Sequence[Query]) -> NDArray[np.int64]:
    """(Q,) the kind of section that each query's gap stands in; ``UNKNOWN`` where its sentence is not in the corpus."""
    result = np.full(len(queries), UNKNOWN, np.int64)
    asked = np.array([q.paper != NO_ROW and q.sentence != NO_ROW for q in queries], bool)
    if not asked.any():
        return result
    papers = np.array([q.paper for q in queries], np.int64)[asked]
    wanted = np.array([q.sentence for q in queries], np.int64)[asked]
    starts, ends = corpus.sentence_indptr[papers], corpus.sentence_indptr[papers + 1]
    positions = corpus.sentences.table.column("position")
    place = np.array(
        [
            start + np.searchsorted(positions.slice(start, end - start).to_numpy(), sentence)
            for start, end, sentence in zip(starts.tolist(), ends.tolist(), wanted.tolist(), strict=True)
        ],
        np.int64,
    )
    inside = place < ends
    rows = pa.array(place[inside])
    there = np.asarray(positions.take(rows).to_numpy()) == wanted[inside]
    headings = corpus.sentences.table.column("section").take(rows).combine_chunks()
    kinds = np.where(there, section_kinds(headings), UNKNOWN)
    result[np.flatnonzero(asked)[inside]] = kinds
    return result

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from helpers.records import (
    write_lines,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers import open_source
from cocite.errors import InputError

FIELDS = (
    "id title abstract year venue authors keyphrases doi split citations contexts sentences context citing cited text "
    "paper position section group unresolved corpusid content body annotations bibliography citingcorpusid "
    "citedcorpusid journal externalids s2fieldsofstudy referenced_works abstract_inverted_index authorships mesh "
    "concepts primary_location keywords out_citations key_phrases start end attributes bibref bibentry paragraph "
    "indexed_abstract InvertedIndex references fos n_citation"
).split()


NAMES = st.sampled_from(FIELDS)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["\ud800", "p", "a b", "[{}]"]),
)


VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=4), max_leaves=6
)


OBJECTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=8)


@settings(max_examples=60)
@given(
    st.sampled_from(["jsonl", "s2", "openalex", "citeomatic", "aminer"]),
    st.lists(OBJECTS, min_size=1, max_size=6),
)
def test_any_objects_are_imported_or_rejected(
    tmp_path: Path, format: str, values: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "x.jsonl", values)
    try:
        corpus = build(open_source(path, format), tmp_path / "store", replace=True)
    except InputError as error:
        assert re.search("no paper can be kept|but no papers|the records are those of", str(error))  # noqa: PT017
        return
    assert len(corpus) <= len(values)
    assert [p.id for p in corpus.papers_at(range(len(corpus)))] == corpus.ids(range(len(corpus)))

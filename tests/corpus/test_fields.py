from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.fields import NESTED, RECORDS, suggest


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("paper", "references", "citations"),
        ("paper", "refs", "citations"),
        ("paper", "cites", "citations"),
        ("paper", "outCitations", "citations"),
        ("paper", "keywords", "keyphrases"),
        ("paper", "pub_year", "year"),
        ("paper", "publication-year", "year"),
        ("paper", "journal", "venue"),
        ("paper", "DOI", "doi"),
        ("paper", "_id", "id"),
        ("paper", "abstrct", "abstract"),
        ("paper", "zzz", ""),
        ("context", "n_unresolved", "unresolved"),
        ("context", "source", "citing"),
        ("paper", "source", "venue"),
        ("sentence", "sentence", "text"),
        ("paper", "contexts.references", "contexts.cited"),
        ("paper", "some.titel", "title"),
    ],
)
def test_the_field_that_was_meant_is_suggested(kind: str, name: str, field: str) -> None:
    assert suggest(kind, name) == field


@given(st.sampled_from(sorted(RECORDS)), st.text(max_size=12))
def test_a_suggestion_is_a_field_of_the_record(kind: str, name: str) -> None:
    field = suggest(kind, name)
    path, _, last = field.rpartition(".")
    assert not field or last in (NESTED[path] if path else RECORDS[kind])

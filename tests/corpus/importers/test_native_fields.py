from __future__ import annotations

from typing import Any

import pytest

from cocite.corpus.fields import NESTED, RECORDS
from cocite.corpus.importers.native_fields import FIELDS, READERS, context_of, read_fields
from cocite.corpus.importers.values import FieldError
from cocite.corpus.records import ContextRecord


def test_every_field_of_every_record_has_a_reader() -> None:
    for kind, fields in FIELDS.items():
        assert {field.type for field in fields.values()} <= set(READERS), kind
    assert set(FIELDS) == set(RECORDS) | set(NESTED)


@pytest.mark.parametrize(
    ("kind", "value", "fields", "unknown"),
    [
        ("paper", {"id": 1, "title": "A", "year": " "}, {"id": "1", "title": "A"}, []),
        ("paper", {"title": None}, {"id": "", "title": ""}, []),
        (
            "paper",
            {"id": "a", "title": "A", "authors": ["B", {"name": "C", "orcid": "0"}], "refs": []},
            {"id": "a", "title": "A", "authors": ("B", "C")},
            ["authors.orcid", "refs"],
        ),
        ("citation", {"citing": "a", "cited": "b"}, {"citing": "a", "cited": ("b",)}, []),
        (
            "sentence",
            {"paper": "a", "text": "t", "position": "3"},
            {"paper": "a", "text": "t", "position": 3},
            [],
        ),
        ("contexts", {"cited": [{"id": 3}], "context": "c"}, {"cited": ("3",), "context": "c"}, []),
    ],
)
def test_fields_are_read_by_their_types(
    kind: str, value: dict[str, Any], fields: dict[str, Any], unknown: list[str]
) -> None:
    names: list[str] = []
    assert read_fields(kind, value, names) == fields
    assert names == unknown


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("citation", {"cited": "b"}, "citing must be an id, not absent"),
        ("citation", {"citing": "a", "cited": []}, "cited must be one or more ids, not a list"),
        ("citation", {"citing": "a", "cited": ["b", None]}, "cited must be one or more ids, not a list"),
        ("sentence", {"paper": " ", "text": "t"}, "paper must be an id, not ' '"),
        (
            "paper",
            {"id": "a", "title": "A", "split": "validation"},
            "split must be train, dev or test, not 'validation'",
        ),
        (
            "paper",
            {"id": "a", "title": "A", "citations": [{"ref": "b"}]},
            "citations must be a list of texts or of objects with 'id'",
        ),
    ],
)
def test_what_does_not_fit_names_its_field(kind: str, value: dict[str, Any], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        read_fields(kind, value, [])


def test_either_mark_of_a_gap_is_read() -> None:
    fields = {"id": "c", "citing": "a", "cited": ("b",)}
    expected = ContextRecord("c", "a", ("b",), "see TARGETCIT here")
    for mark in ("[CIT]", "TARGETCIT"):
        assert context_of(fields | {"context": f"see {mark} here"}) == expected

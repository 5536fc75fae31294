"""Settings of BM25 for the papers' fields."""

from __future__ import annotations

import pytest

from cocite.errors import InputError
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Fields, Bm25Settings


def test_options_change_one_field_and_only_changes_are_recorded() -> None:
    fields = Bm25Fields.from_options(["title.k1=2", "abstract.b=0.3"], option="--bm25")
    assert (fields.title.k1, fields.title.b, fields.abstract.b, fields.text.k1) == (2, 0.75, 0.3, 1.2)
    assert fields.changed() == {"title.k1": 2.0, "abstract.b": 0.3}
    assert Bm25Fields().changed() == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [("titel.k1=2", "titel"), ("title.k2=2", "k2"), ("title.b=1.5", "title.b"), ("title.k1=-1", "title.k1")],
)
def test_unknown_names_and_values_out_of_bounds_are_refused(value: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Bm25Fields.from_options([value], option="--bm25")


def test_the_fields_of_built_indexes_are_read_from_them() -> None:
    papers = {"title": Bm25Index.build(["a title"], k1=2.0, b=0.5), "other": Bm25Index.build(["x"], k1=9.0)}
    assert Bm25Fields.of(papers) == Bm25Fields(title=Bm25Settings(k1=2.0, b=0.5))

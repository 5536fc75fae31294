from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from cocite.corpus.records import (
    ARXIV_DOI,
    CONTEXTS,
    PAPERS,
    SENTENCES,
    SPLITS,
    ContextRecord,
    PaperRecord,
    SentenceRecord,
)


@pytest.mark.parametrize(
    ("schema", "record", "apart"),
    [
        (PAPERS, PaperRecord, {"citations"}),
        (CONTEXTS, ContextRecord, set()),
        (SENTENCES, SentenceRecord, {"paper"}),
    ],
)
def test_the_columns_of_a_store_are_the_fields_of_a_record(
    schema: pa.Schema, record: type, apart: set[str]
) -> None:
    """But for what other files of the store hold: links, and where the sentences of a paper begin."""
    assert set(schema.names) == {field.name for field in dataclasses.fields(record)} - apart


def test_the_code_of_a_split_fits_its_column() -> None:
    assert SPLITS[0] == ""
    assert PAPERS.field("split").type == pa.int8()
    assert len(set(SPLITS)) == len(SPLITS) < 128


def test_records_hold_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="doy"):
        PaperRecord("a", "A").doy = 1  # type: ignore[attr-defined]
    assert ARXIV_DOI.endswith(".")

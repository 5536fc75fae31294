from __future__ import annotations

from cocite.corpus.fields import CONTEXT, PAPER
from cocite.corpus.record_block import RAW


def test_the_columns_are_fields_of_papers_and_contexts() -> None:
    assert set(RAW.names) == (set(PAPER) - {"contexts", "sentences"}) | set(CONTEXT)

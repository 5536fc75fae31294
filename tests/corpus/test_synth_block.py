from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cocite.corpus.records import CONTEXTS, PAPERS, SENTENCES, ContextRecord, PaperRecord, SentenceRecord
from cocite.corpus.synth import Synthetic
from cocite.corpus.synth_block import SyntheticBlock, list_column, paper_id, paper_ids


@pytest.fixture(scope="module")
def blocks() -> list[SyntheticBlock]:
    return list(Synthetic(200, seed=5, sentences=True).blocks())


def test_ids() -> None:
    rows = [0, 7, 12_345_678, 99_999_999]
    assert paper_ids(np.array(rows)).to_pylist() == [paper_id(row) for row in rows]
    assert paper_id(7) == "S00000007"


def test_list_column() -> None:
    column = list_column(np.array([2, 0, 1]), pa.array(["a", "b", "c"]))
    assert column.to_pylist() == [["a", "b"], [], ["c"]]


def test_columns_are_the_stores(blocks: list[SyntheticBlock]) -> None:
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), np.arange(200))
    for block in blocks:
        for batch, schema in (
            (block.papers, PAPERS),
            (block.contexts, CONTEXTS),
            (block.sentences, SENTENCES),
        ):
            batch.validate(full=True)
            assert batch.schema == schema
        assert (np.diff(block.contexts["citing"].to_numpy()) >= 0).all()
        assert block.body_lengths.sum() == len(block.sentences)


def test_records_say_what_the_columns_say(blocks: list[SyntheticBlock]) -> None:
    for block in blocks:
        found = list(block.records())
        papers = {row: record for row, record in found if isinstance(record, PaperRecord)}
        assert list(papers) == block.rows.tolist()
        citing, cited = block.links
        assert {(row, id_) for row, paper in papers.items() for id_ in paper.citations} == {
            (row, paper_id(other)) for row, other in zip(citing.tolist(), cited.tolist(), strict=True)
        }
        contexts = [record for _, record in found if isinstance(record, ContextRecord)]
        assert [context.id for context in contexts] == block.contexts["id"].to_pylist()
        groups = block.groups
        for number, context in enumerate(contexts):
            assert context.cited == tuple(paper_id(row) for row in groups[number].tolist())
        sentences = [(row, record) for row, record in found if isinstance(record, SentenceRecord)]
        assert [record.text for _, record in sentences] == block.sentences["text"].to_pylist()
        counts = np.bincount([row - block.rows[0] for row, _ in sentences], minlength=len(block.rows))
        np.testing.assert_array_equal(block.body_lengths, counts)


def test_a_block_without_contexts() -> None:
    block = next(Synthetic(20, context_rate=0).blocks())
    assert len(block.groups) == 0
    assert block.body_lengths.tolist() == [0] * len(block.rows)
    assert all(isinstance(record, PaperRecord) for _, record in block.records())

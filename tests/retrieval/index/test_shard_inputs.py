"""Each shard knows its contexts and what they cite without those of other shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.part_files import LocalFiles
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.shard_inputs import ShardInputs
from cocite.retrieval.index.shard_ranges import divide


@pytest.mark.parametrize("until", [None, 2004])
def test_the_contexts_of_all_shards_are_those_of_the_history(
    corpus: Corpus, until: int | None, tmp_path: Path
) -> None:
    history = History.all(corpus) if until is None else History.until(corpus, until)
    collection = Collection(corpus, history, np.ones(len(corpus), bool))
    ranges = divide(collection, 3)
    inputs = ShardInputs(collection, ranges, LocalFiles(tmp_path))
    positions = [inputs.contexts(corpus, number) for number in range(3)]
    np.testing.assert_array_equal(np.concatenate(positions), history.contexts)
    for number, part in enumerate(ranges):
        assert len(positions[number]) == part.contexts == inputs.documents("contexts", number)
        assert inputs.documents("papers", number) == inputs.documents("anchors", number) == part.papers
        expected = collection.cited_by_context.part(part.first_context, part.last_context)
        np.testing.assert_array_equal(inputs.cited(number).indptr, expected.indptr)
        np.testing.assert_array_equal(inputs.cited(number).indices, expected.indices)
    with pytest.raises(ValueError, match="nothing loads the encoder 'nnselect'"):
        inputs.load_encoder("nnselect")

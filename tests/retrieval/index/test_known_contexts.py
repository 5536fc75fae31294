"""Known contexts with their papers and what they cite, made in memory or mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.corpus import csr
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.retrieval.index.known_contexts import KnownContexts
from cocite.retrieval.index.sharded_index import ShardedIndex


@pytest.mark.parametrize("block", [7, csr.BLOCK])
@pytest.mark.parametrize("year", [1000, 2005, 3000])
def test_they_are_those_of_the_known_papers(
    corpus: Corpus, year: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csr, "BLOCK", block)
    history = History.until(corpus, year) if year < 3000 else History.all(corpus)
    known = KnownContexts.of(history)
    assert known.papers.dtype == known.cited.indices.dtype == np.int32
    assert known.cited.indptr.dtype == np.int64
    expected = [
        (int(citing), corpus.context_cited[position].tolist())
        for position, citing in enumerate(corpus.context_citing)
        if history.citing[citing]
    ]
    found = zip(
        known.papers.tolist(), [known.cited[row].tolist() for row in range(len(known.cited))], strict=True
    )
    assert list(found) == expected
    assert (len(expected) == 0) == (year == 1000)


def test_what_is_saved_is_read(corpus: Corpus, tmp_path: Path) -> None:
    known = KnownContexts.of(History.until(corpus, 2005))
    assert 0 < len(known.papers) < len(corpus.contexts)
    assert KnownContexts.open(tmp_path / "known") is None
    known.save(tmp_path / "known")
    opened = KnownContexts.open(tmp_path / "known")
    assert opened is not None
    np.testing.assert_array_equal(opened.papers, known.papers)
    np.testing.assert_array_equal(opened.cited.indices, known.cited.indices)
    np.save(tmp_path / "known" / "papers.npy", known.papers[:-1])
    with pytest.raises(IntegrityError, match="where .* contexts belong"):
        KnownContexts.open(tmp_path / "known")


def test_a_shorter_history_has_its_own(corpus: Corpus, tmp_path: Path) -> None:
    index = ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    assert index.known is not None
    earlier = index.rewind(2005)
    assert earlier.known is None
    np.testing.assert_array_equal(earlier.context_papers, KnownContexts.of(earlier.history).papers)

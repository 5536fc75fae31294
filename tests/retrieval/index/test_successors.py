"""What a version takes over from the one before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, make_records

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.successors import (
    encoders_by_name,
    find_papers,
    grown_collection,
    inherited_meta,
)


def test_new_papers_stand_behind_and_old_ones_keep_their_marks(
    corpus: Corpus, root: Path, tmp_path: Path, encoder: HashEncoder
) -> None:
    IndexSnapshot.create(corpus, root, known_until=2007, encoders=[encoder])
    old = IndexSnapshot.remove(root, ["p4"])
    new = grown_collection(old, make_records(3, start=80), tmp_path / "new", [encoder], None)
    assert np.flatnonzero(~new.alive).tolist() == [4]
    np.testing.assert_array_equal(new.history.citing[:80], old.history.citing)
    assert not new.history.citing[80:].any()
    assert inherited_meta(old) == {
        "known_until": 2007,
        "before_split": None,
        "encoder_ids": {"hash": "hash-1"},
        "bm25": {},
        "domain": old.manifest.meta["domain"],
    }
    assert encoders_by_name(old, [encoder, HashEncoder(name="other")], root) == {"hash": encoder}
    with pytest.raises(InputError, match="the index holds vectors of hash"):
        encoders_by_name(old, [], root)


def test_an_unknown_paper_is_named(corpus: Corpus) -> None:
    assert find_papers(corpus, ["p7", "p3"], "index").tolist() == [7, 3]
    with pytest.raises(NotFoundError, match="no paper has the id 'nobody'"):
        find_papers(corpus, ["p7", "nobody"], "index")

"""Files of BM25 indexes: a group comes back as it was written, and damage is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cocite.errors import IntegrityError, NotFoundError
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_files import load_group, save_group


def a_group() -> dict[str, Bm25Index]:
    contexts = Bm25Index.build(["graph model", "a neural model", "parsing graphs"])
    return {"contexts": contexts, "whole": contexts.grouped([0, 1, 2], [0, 0, 1], 2)}


def test_a_group_shares_its_vocabulary_and_scores_alike(tmp_path: Path) -> None:
    group = a_group()
    save_group(group, tmp_path / "group", without_lists=["whole"])
    assert not list((tmp_path / "group" / "whole").glob("lists*"))
    loaded = load_group(tmp_path / "group", ["contexts", "whole"])
    assert loaded["contexts"].vocabulary is loaded["whole"].vocabulary
    for name, index in group.items():
        np.testing.assert_array_equal(loaded[name].scores(["graph model"]), index.scores(["graph model"]))
        assert (loaded[name].k1, loaded[name].mean_length) == (index.k1, index.mean_length)


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such folder"):
        load_group(tmp_path / "none", ["contexts"])
    folder = tmp_path / "group"
    save_group(a_group(), folder)
    words = (folder / "vocabulary.txt").read_text()
    (folder / "vocabulary.txt").write_text("graph")
    with pytest.raises(IntegrityError, match="1 words where 5 were written"):
        load_group(folder, ["contexts"])
    (folder / "vocabulary.txt").write_text(words)
    np.save(folder / "contexts" / "lists.weights.npy", np.zeros(2, np.float32))
    with pytest.raises(IntegrityError, match="not a readable BM25 index"):
        load_group(folder, ["contexts"])
    (folder / "whole" / "idf.npy").unlink()
    with pytest.raises(IntegrityError, match=r"idf\.npy"):
        load_group(folder, ["whole"])
    (folder / "vocabulary.txt").unlink()
    with pytest.raises(IntegrityError, match="not a readable vocabulary"):
        load_group(folder, ["whole"])

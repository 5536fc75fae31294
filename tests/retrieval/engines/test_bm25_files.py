"""Files of BM25 indexes: a group comes back as it was written, and damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cocite.errors import InputError, IntegrityError, NotFoundError
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


def test_a_field_inside_another_is_stored_beside_it(tmp_path: Path) -> None:
    text = Bm25Index.build(["a graph model of graphs", "parsing", "neural graph"])
    title = text.like(text.vocabulary, text.counts.matrix().minimum(1), text.idf)
    inside = {"title": "text", "near": "whole"}
    save_group({"text": text, "title": title}, tmp_path / "group", inside=inside)
    assert not list((tmp_path / "group" / "title").glob("counts*"))
    loaded = load_group(tmp_path / "group", ["text", "title"])
    assert loaded["text"].counts.packed is loaded["title"].counts.packed
    alone = load_group(tmp_path / "group", ["title"])["title"]
    asked = text.query_words(["graph model"])
    for index, expected in ((loaded["text"], text), (loaded["title"], title), (alone, title)):
        np.testing.assert_array_equal(index.lengths, expected.lengths)
        np.testing.assert_array_equal(
            index.scores_at(asked, np.arange(3)), expected.scores_at(asked, np.arange(3))
        )
        np.testing.assert_array_equal(index.scores(["graph model"]), expected.scores(["graph model"]))


def test_an_index_of_an_earlier_layout_is_to_be_built_again(tmp_path: Path) -> None:
    save_group(a_group(), tmp_path / "group")
    path = tmp_path / "group" / "contexts" / "bm25.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "counts_in": "../elsewhere"}))
    with pytest.raises(IntegrityError, match="'../elsewhere' is not the name of an index"):
        load_group(tmp_path / "group", ["contexts"])
    del settings["counts_in"]
    path.write_text(json.dumps(settings))
    with pytest.raises(
        InputError, match="another layout: an earlier version of cocite made the index"
    ) as info:
        load_group(tmp_path / "group", ["contexts"])
    assert info.value.hint == "build it again with cocite index build"


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

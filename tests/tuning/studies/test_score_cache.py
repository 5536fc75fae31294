"""The cache of the scores that trials share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.errors import IntegrityError, NotFoundError
from cocite_tuning.studies.score_cache import ScoreCache, save_arrays

META: dict[str, Any] = {"format": 1, "seed": 3, "members": {"nnselect": "abc"}}


def build(shared: Path, meta: dict[str, Any] = META) -> ScoreCache:
    cache = ScoreCache(shared, "toy", meta)
    with cache.build() as (folder, more):
        save_arrays(folder, {"scores": np.arange(6, dtype=np.float32).reshape(2, 3)})
        (folder / "times.json").write_text('{"5": 1.5}')
        more["tuning"] = 2
    return cache


def test_another_process_opens_what_one_built(tmp_path: Path) -> None:
    build(tmp_path)
    cache = ScoreCache(tmp_path, "toy", dict(reversed(META.items())))  # the order of keys does not matter
    assert cache.is_complete()
    assert cache.meta["tuning"] == 2
    scores = cache.array("scores")
    assert isinstance(scores, np.memmap)
    np.testing.assert_array_equal(scores, [[0, 1, 2], [3, 4, 5]])
    assert cache.json("times.json") == {"5": 1.5}


def test_other_dependencies_have_a_cache_of_their_own(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built.folder.name.startswith("toy-")
    for change in ({"seed": 4}, {"members": {}}, {"format": 2}):
        other = ScoreCache(tmp_path, "toy", META | change)
        assert other.folder != built.folder
        assert not other.is_complete()


def test_the_name_of_a_folder_is_that_of_earlier_versions(tmp_path: Path) -> None:
    # sha256 of the sorted JSON: sweeps that were begun before find their scores.
    assert ScoreCache(tmp_path, "bm25", {"a": 1, "b": [2]}).folder.name == "bm25-ae8a9a505246"


def test_what_was_not_built_is_not_there(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, "toy", META)
    assert not cache.is_complete()
    with pytest.raises(NotFoundError, match="the scores that all trials share are not there .*prepare first"):
        cache.array("scores")


def test_an_interrupted_build_leaves_no_cache(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, "toy", META)
    with pytest.raises(KeyboardInterrupt, match=r"^$"), cache.build() as (folder, _):
        save_arrays(folder, {"scores": np.arange(3)})
        raise KeyboardInterrupt
    assert not cache.is_complete()
    assert build(tmp_path).is_complete()


def test_changed_scores_are_refused(tmp_path: Path) -> None:
    cache = build(tmp_path)
    path = cache.folder / "scores.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match=r"scores\.npy"):
        ScoreCache(tmp_path, "toy", META).array("scores")

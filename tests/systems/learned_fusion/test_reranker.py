"""A trained fusion: its scores, its artifact, and the importance of its signals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.fusion_examples import fusion_examples, small_recipe

from cocite.artifacts import seal
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.systems.learned_fusion.reranker import LearnedFusion, stack_signals
from cocite.systems.learned_fusion.task import train_measured, train_trees


@pytest.fixture(scope="module")
def fusion() -> LearnedFusion:
    data = fusion_examples(40, noise=0.5, useless=2)
    return train_trees(data.signals, data.relevant, small_recipe(trees=9).trees)


@pytest.mark.parametrize("steps", [[1], [2, 5], [3, 6, 9]])
def test_scores_after_some_trees_are_those_of_as_many_trees(steps: list[int]) -> None:
    data = fusion_examples(40, noise=0.5)
    fusion = train_measured(data, small_recipe(trees=9)).fusion
    table = np.stack([data.signals[name] for name in fusion.names], -1).reshape(-1, len(fusion.names))
    for count, scores in zip(steps, fusion.scores_after(data.signals, steps), strict=True):
        expected = fusion.booster.predict(table, num_iteration=count).reshape(scores.shape)
        assert scores == pytest.approx(expected, abs=1e-6)


def test_it_is_saved_and_loaded_by_kind(fusion: LearnedFusion, tmp_path: Path) -> None:
    signals = fusion_examples(5, noise=0.5, useless=2, seed=3).signals
    LearnedFusion.save_all(tmp_path / "fusion", {"global": fusion}, {"corpus": "x"})
    LearnedFusion.save_all(tmp_path / "fusion", {"local": fusion, "global": fusion}, {"corpus": "x"})
    loaded = LearnedFusion.load_all(tmp_path / "fusion")
    assert list(loaded) == ["local", "global"]
    for one in loaded.values():
        assert (one.names, one.depth) == (fusion.names, 30)
        np.testing.assert_array_equal(one.scores(signals), fusion.scores(signals))


def test_a_damaged_artifact_is_refused(fusion: LearnedFusion, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="fusion"):
        LearnedFusion.load_all(tmp_path / "fusion")
    LearnedFusion.save_all(tmp_path / "fusion", {"global": fusion}, {})
    (tmp_path / "fusion" / "global.txt").write_text("no trees\n")
    with pytest.raises(IntegrityError, match=r"global\.txt: damaged"):
        LearnedFusion.load_all(tmp_path / "fusion")
    seal(tmp_path / "fusion", kind="learned-fusion", meta={})
    with pytest.raises(IntegrityError, match="not a LightGBM model"):
        LearnedFusion.load_all(tmp_path / "fusion")


def test_a_missing_signal_is_named(fusion: LearnedFusion) -> None:
    signals = fusion_examples(5, noise=0.5, useless=2).signals
    del signals["useless-1"]
    for scores in (fusion.scores, lambda signals: fusion.scores_after(signals, [1])):
        with pytest.raises(InputError, match="reads the signal 'useless-1', which nothing provides"):
            scores(signals)


def test_importance_is_a_distribution_headed_by_the_telling_signal(fusion: LearnedFusion) -> None:
    importance = fusion.importance()
    assert importance[0][0] == "first-stage"
    assert {name for name, _ in importance} == set(fusion.names)
    assert sum(share for _, share in importance) == pytest.approx(1)
    assert [share for _, share in importance] == sorted((share for _, share in importance), reverse=True)


def test_signals_are_stacked_in_the_order_of_their_names() -> None:
    signals = {"a": np.zeros((2, 3), np.float32), "b": np.ones((2, 3), np.float32)}
    table = stack_signals(signals, ["b", "a", "b"])
    assert table.shape == (2, 3, 3)
    assert table[1, 2].tolist() == [1, 0, 1]

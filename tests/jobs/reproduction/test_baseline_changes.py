from __future__ import annotations

from dataclasses import replace

import pytest

from cocite.errors import CociteError
from cocite_jobs.reproduction.baseline_changes import baseline_changes, baseline_settings
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Setup


def test_a_users_changes_come_after_those_of_the_size(empty_setup: Setup) -> None:
    setup = replace(empty_setup, settings=("baselines.w2v.epochs=3", "hatten.training.epochs=2"))
    settings = baseline_settings(baseline_changes(setup, ["w2v.epochs=1", "w2v.dimension=8"]))
    assert (settings.w2v.epochs, settings.w2v.dimension) == (3, 8)


def test_the_papers_size_has_gensims_defaults_and_ranks_by_cosines(empty_setup: Setup) -> None:
    plan = plan_of("mp-bert4cr", replace(empty_setup, size="paper", settings=("baselines.hd2v.epochs=9",)))
    assert plan.baselines is not None
    settings = plan.baselines(replace(empty_setup, size="paper", settings=("baselines.hd2v.epochs=9",)))
    w2v, d2v, hd2v = settings.w2v, settings.d2v, settings.hd2v  # type: ignore[attr-defined]
    assert (w2v.architecture, w2v.dimension, w2v.window, w2v.min_count) == ("cbow", 100, 5, 5)
    assert (w2v.epochs, w2v.negatives) == (5, 5)
    assert (d2v.dimension, d2v.window, d2v.min_count, hd2v.epochs) == (100, 5, 5, 9)
    assert w2v.cosine, "section 5.3: by cosine similarities"
    assert hd2v.cosine
    assert settings.dacr.cosine  # type: ignore[attr-defined]


@pytest.mark.parametrize(("paper", "table"), [("mp-bert4cr", "table3"), ("hatten", "table2")])
def test_the_command_beside_a_table_makes_the_same_changes(
    empty_setup: Setup, paper: str, table: str
) -> None:
    plan = plan_of(paper, replace(empty_setup, settings=("baselines.s2v.epochs=2",)))
    assert " --setting w2v.dimension=8 " in plan.command_of(table)
    assert " --setting s2v.epochs=2 " in plan.command_of(table)


@pytest.mark.parametrize(
    ("paper", "setting", "sentence"),
    [
        ("mp-bert4cr", "baselines.w2v.windw=5", r"unknown key 'w2v\.windw' \(did you mean 'window'"),
        ("hatten", "baselines.ncn.epochs=-1", r"--change ncn\.epochs=-1 on the command line"),
        ("hatten", "baselines=mine.yaml", r"^--change: baselines have no recipe \(as baselines\.w2v"),
        ("nogueira", "baselines.w2v.window=5", r"^--change: nogueira at size toy trains no 'baselines'"),
    ],
)
def test_what_changes_no_baseline_is_refused(
    empty_setup: Setup, paper: str, setting: str, sentence: str
) -> None:
    with pytest.raises(CociteError, match=sentence):
        plan_of(paper, replace(empty_setup, settings=(setting,)))

"""The hierarchy, the words next to the gap, and what is left out of each, end to end at toy size."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import call

from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite_jobs.reproduction.mp_bert4cr_controls import ROWS, control_exhibits, control_trainings
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import SIZES, Setup
from cocite_jobs.reproduction.reproduce import SPENT, Outcome, reproduce
from cocite_jobs.training.recipes import load_recipe


def test_rows_are_what_the_paper_has_not() -> None:
    for rows, needed in (
        (ROWS["hierarchy"], {"hierarchy", "no hierarchy", "words only", "fixed draw", "no abstract"}),
        (ROWS["gap"], {"gap", "gap, not read", "gap, no hierarchy", "gap, fixed draw", "gap, no abstract"}),
    ):
        assert needed <= set(rows)
        assert rows[0] in ("hierarchy", "gap")
    assert not [row for rows in ROWS.values() for row in rows if "pretrained" in row]


@pytest.mark.integration
def test_each_group_is_a_table_with_the_columns_of_table_4(
    reproduced: Callable[[str], Outcome], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = reproduced("mp-bert4cr")
    shown = {each.exhibit.id: each for each in outcome.contents.shown}
    fourth = shown["table4"].made.table
    for group, rows in ROWS.items():
        table = shown[group].made.table
        assert [row[0] for row in table.rows] == [*rows]
        assert table.columns == fourth.columns
        assert f"worse than {rows[0]} (paired t-test" in table.note
        assert shown[group].published == []
        line = shlex.split(shown[group].exhibit.command)[1:]
        code, out, err = call(capsys, *line, "--no-track", "--json")
        assert code == 0, err
        printed = json.loads(out)["tables"]["Table 4: objectives"]
        assert [list(row.values()) for row in printed] == [
            [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row]
            for row in table.rows
        ], "the command beside the table prints it"
    assert "layers add 0.00 to manuscripts" in " ".join(shown["hierarchy"].models), "words only"
    assert any("layers add 0.00" not in line for line in shown["hierarchy"].models[1:])


@pytest.mark.integration
def test_rows_of_a_group_share_what_costs_most(
    reproduced: Callable[[str], Outcome], toy_setup: Callable[[str], Setup]
) -> None:
    reproduced("mp-bert4cr")
    root = toy_setup("mp-bert4cr").model
    trunk = root / "masked-lm/manifest.json"
    for name, slugs in (
        ("sentence-vectors", ("hierarchy", "no-hierarchy", "trunk-only", "fixed-draw")),
        ("sentence-texts", ("hierarchy", "no-hierarchy", "words-only", "hierarchy-of-words", "no-abstract")),
        ("sentence-texts", ("gap", "gap-not-read", "gap-no-hierarchy", "gap-fixed-draw", "gap-no-abstract")),
    ):
        first, *others = (root / f"controls/{slug}-seed0" for slug in slugs)
        for other in others:
            assert (other / name / "manifest.json").samefile(first / name / "manifest.json"), other.name
        if slugs[0] == "hierarchy":
            assert (first / "masked-lm/manifest.json").samefile(trunk)
    recipes: dict[str, Any] = {
        folder.name: read_manifest(folder / "mp-bert4cr").meta["recipe"]
        for folder in (root / "controls").iterdir()
    }
    assert recipes["no-hierarchy-seed0"]["model"]["document_layers"] == 0
    assert recipes["gap-seed0"]["contexts"]["near"] == 8
    assert {recipe["training"]["steps"] for recipe in recipes.values()} == {2}


def test_a_spent_budget_leaves_the_controls_to_the_next_run(empty_setup: Setup) -> None:
    outcome = reproduce("mp-bert4cr", empty_setup, only=["gap"], budget=1e-9)
    assert (outcome.trained, outcome.made) == ([], [])
    assert list(outcome.contents.missing.values()) == [SPENT]


def test_a_setting_of_a_controls_recipe_is_of_its_rows_alone(empty_setup: Setup) -> None:
    settings = ("mp-bert4cr-gap.contexts.near=4", "mp-bert4cr.positives.count=2")
    setup = replace(empty_setup, settings=settings)
    loaded: dict[str, Any] = {
        training.name: training.load(setup)
        for training in plan_of("mp-bert4cr", setup).trainings
        if training.load is not None
    }
    assert loaded["control: gap"].contexts.near == 4
    assert loaded["control: gap, not read"].contexts.near == 0, "what tells a row apart stays"
    assert loaded["control: gap"].positives.count == 0
    assert loaded["control: hierarchy"].contexts.near == 0
    assert loaded["mpt-src"].positives.count == 2
    with pytest.raises(InputError, match="is a recipe of mp-bert4cr, not of mp-bert4cr-gap"):
        plan_of("mp-bert4cr", replace(empty_setup, settings=("mp-bert4cr-gap=mp-bert4cr-small",)))


def test_another_trunk_needs_no_training(empty_setup: Setup, tmp_path: Path) -> None:
    settings = (f"mp-bert4cr-hierarchy.texts.trunk.encoder={tmp_path}",)
    names = [training.name for training in control_trainings(replace(empty_setup, settings=settings))]
    assert names == [f"control: {row}" for rows in ROWS.values() for row in rows]
    [hierarchy, gap] = control_exhibits(replace(empty_setup, settings=settings), 5, tmp_path)
    assert not {"masked-lm"} & {*hierarchy.needs, *gap.needs}
    assert "--base hierarchy" in hierarchy.command


@pytest.mark.parametrize("size", SIZES)
def test_the_recipes_are_small_at_every_size(empty_setup: Setup, size: Any) -> None:
    setup = replace(empty_setup, size=size)
    [gap] = [each for each in control_trainings(setup) if each.name == "control: gap"]
    assert gap.load is not None
    recipe: Any = gap.load(setup)
    own: Any = load_recipe("mp-bert4cr-gap")
    assert recipe.model == (own.model if size != "toy" else recipe.model)
    assert recipe.training.steps == (2 if size == "toy" else own.training.steps)

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import ConfigError, NotFoundError
from cocite_jobs.training.recipes import load_recipe, recipe_path, shipped_recipes
from cocite_jobs.training.registry import KINDS


def test_every_shipped_recipe_fits_its_type_and_every_kind_has_one() -> None:
    kinds = {load_recipe(name).model_dump()["kind"] for name in shipped_recipes()}
    assert kinds == set(KINDS) - {"bag"}
    assert {"nnselect", "nnselect-paper", "nnrank", "nnrank-paper", "nnrank-metadata"} <= set(
        shipped_recipes()
    )


def test_mistakes_in_a_recipe_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^RECIPE: no recipe 'nnselct' .*did you mean 'nnselect'"):
        load_recipe("nnselct")
    with pytest.raises(ConfigError, match=r"unknown key 'training\.btch' .*batch"):
        load_recipe("hatten", ["training.btch=3"])
    for kind in ("kind: hattn\n", "kind: [hatten]\n", "training: {}\n"):
        (tmp_path / "r.yaml").write_text(kind)
        with pytest.raises(ConfigError, match=r"r\.yaml: kind: .* cannot be trained"):
            load_recipe(str(tmp_path / "r.yaml"))


def test_overrides_and_values_change_a_recipe(tmp_path: Path) -> None:
    shipped = load_recipe("hatten")
    as_text = load_recipe("hatten", ["training.batch=24"])
    as_value = load_recipe("hatten", values={"training.batch": 24})
    assert shipped != as_text == as_value
    copy = tmp_path / "ours.yaml"
    copy.write_text(recipe_path("hatten").read_text())
    assert load_recipe(str(copy)) == shipped

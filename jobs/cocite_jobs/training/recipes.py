"""Recipes: the YAML files that come with cocite, and a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cocite.config import Settings
from cocite.errors import ConfigError, nearest
from cocite.shipped_files import shipped_file, shipped_names
from cocite.yaml_files import read_yaml
from cocite_jobs.training.registry import KINDS

RECIPES = Path(__file__).parents[1] / "recipes"
"""Folder of the recipes that come with cocite."""


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with cocite, sorted.

    Example:
        >>> [name for name in shipped_recipes() if name.startswith("nnselect")]
        ['nnselect', 'nnselect-paper', 'nnselect-paper-opencorpus', 'nnselect-paper-pubmed']
    """
    return shipped_names(RECIPES)


def recipe_path(name: str) -> Path:
    """The file of a recipe, given the name of a shipped one or a path.

    Raises:
        NotFoundError: there is no such file.

    Example:
        >>> recipe_path("hatten").name
        'hatten.yaml'
    """
    return shipped_file(name, RECIPES, what="recipe")


def load_recipe(
    name: str, overrides: Sequence[str] = (), values: Mapping[str, Any] | None = None
) -> Settings:
    """Load a recipe.

    Args:
        name: of a shipped recipe, or the path of a YAML file.
        overrides: ``key.path=value``, as on the command line.
        values: by key path, of the types that the recipe's fields have.

    Raises:
        NotFoundError: there is no such file.
        ConfigError: its kind cannot be trained, or a value is not allowed.

    Example:
        >>> recipe = load_recipe("hatten", ["training.batch=16"])
        >>> recipe.kind, recipe.training.batch
        ('hatten', 16)
    """
    path = recipe_path(name)
    data = read_yaml(path)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(
            f"kind: {kind!r} cannot be trained", where=str(path), hint=nearest(str(kind), KINDS)
        )
    return KINDS[kind].recipe_class().parse(data, where=path, overrides=overrides, values=values)

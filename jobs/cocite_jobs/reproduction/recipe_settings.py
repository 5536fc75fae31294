"""What a user changes in the recipes of a reproduction: ``cocite reproduce --change``."""

from __future__ import annotations

from collections.abc import Sequence

from cocite.errors import InputError, nearest
from cocite_jobs.reproduction.plan import Plan, Setup
from cocite_jobs.training.recipes import load_recipe

OPTION = "--change"
BASELINES = "baselines"
"""What stands in place of a kind in settings of the baselines, which have no recipe."""
FORMS = "KIND.key.path=value changes a recipe, as hatten.words.source=file; KIND=RECIPE takes another one"


def changed_recipe(settings: Sequence[str], kind: str, recipe: str) -> tuple[str, list[str]]:
    """The recipe that is trained for a kind, and its overrides.

    Args:
        settings: what a user gave, for recipes of any kind; the last one wins.
        kind: of the recipe.
        recipe: the plan's own.

    Example:
        >>> changed_recipe(["nnselect=nnselect-paper-pubmed", "nnselect.training.epochs=2"], "nnselect", "nnselect")
        ('nnselect-paper-pubmed', ['training.epochs=2'])
        >>> changed_recipe(["nnselect.training.epochs=2"], "hatten", "hatten-paper")
        ('hatten-paper', [])
    """
    overrides = []
    for key, value in (_parse(text) for text in settings):
        name, _, path = key.partition(".")
        if name != kind:
            continue
        if path:
            overrides.append(f"{path}={value}")
        else:
            recipe = value
    return recipe, overrides


def check_settings(plan: Plan, setup: Setup) -> None:
    """Refuse settings that fit no recipe of a plan, before anything is trained.

    Raises:
        InputError: one has not the form, is of a kind that the plan does not train, or is given by another option.
        ConfigError: a recipe is not of its kind, or a value is not allowed in it.
    """
    kinds = sorted({training.kind for training in plan.trainings if training.load is not None})
    known = [*kinds, *([BASELINES] if plan.baselines is not None else [])]
    for key, _ in map(_parse, setup.settings):
        kind, _, path = key.partition(".")
        if kind not in known:
            raise InputError(
                f"{plan.paper} at size {setup.size} trains no {kind!r}",
                where=OPTION,
                hint=nearest(kind, known),
            )
        if kind == BASELINES and not path:
            raise InputError(f"{BASELINES} have no recipe", where=OPTION, hint="as baselines.w2v.window=5")
        if path == "training.seed":
            raise InputError(f"{key} cannot be set", where=OPTION, hint="name the seed by --seed")
    for kind in kinds:
        recipe, _ = changed_recipe(setup.settings, kind, "")
        found = str(load_recipe(recipe).kind) if recipe else kind  # type: ignore[attr-defined]
        if found != kind:
            raise InputError(f"{recipe!r} is a recipe of {found}, not of {kind}", where=OPTION)
    if setup.settings and plan.baselines is not None:
        plan.baselines(setup)
    for training in plan.trainings:
        if setup.settings and training.load is not None:
            training.load(setup)


def _parse(text: str) -> tuple[str, str]:
    """Key and value of a setting."""
    key, equals, value = text.partition("=")
    if not (equals and key and value):
        raise InputError(f"{text[:100]!r} is no setting", where=OPTION, hint=FORMS)
    return key, value

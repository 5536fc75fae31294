"""MP-BERT4CR's hierarchy that two cores can train, and the words next to the gap: rows that the paper does not have.

Each group begins with a recipe, and every other row of it differs from that by one thing: no hierarchy, a fixed draw,
no abstract of the manuscript, and what else ``cocite evaluate controls`` names. The recipes are small at every size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.plan import Exhibit, Setup, Training
from cocite_jobs.reproduction.recipe_settings import changed_recipe
from cocite_jobs.reproduction.rerankers import TINY_ENCODER
from cocite_jobs.reproduction.training_step import overrides_of, recipe_training
from cocite_jobs.tables.cocitation import cocitation_tables
from cocite_jobs.tables.cocitation_controls import CONTROLS, control_folder, train_controls
from cocite_jobs.tables.cocitation_systems import DEFAULT_ENCODER, ModelFolder
from cocite_jobs.training.recipes import load_recipe

TITLES: Mapping[str, str] = {
    "hierarchy": "Hierarchy: layers over sentences and a frozen trunk, and the same but for one thing",
    "gap": "Gap: the words next to the gap read once more, and the same but for one thing",
}
"""Group of controls, which is the exhibit's id -> its title."""
ROWS: Mapping[str, tuple[str, ...]] = {
    group: tuple(
        name for name, control in CONTROLS.items() if control.group == group and not control.pretraining
    )
    for group in TITLES
}
"""Group -> its rows; the first is what the others are tested against. Pretrained layers are a row of ``cocite evaluate
controls`` alone: they take twice the time, and harm (decision 0008)."""
TINY = (
    *("texts.sentence_tokens=24", "model.sentence_tokens=24", "model.hidden=24", "model.heads=2"),
    *("model.inner=48", "dev_contexts=20", "training.precision=fp32", "training.batch=24"),
    *("training.steps=2", "training.checkpoint_every=1"),
)


def control_trainings(setup: Setup) -> list[Training]:
    """The trunk of the hierarchy, where it is trained here, and a training for each row.

    Args:
        setup: of the reproduction. What it changes in a control's recipe is named by the recipe, as
            ``mp-bert4cr-gap.contexts.near=4``.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> trainings = control_trainings(Setup(starter_corpus(), Path("to"), "toy"))
        >>> [training.name for training in trainings[:3]], trainings[1].artifacts
        (['masked-lm', 'control: hierarchy', 'control: no hierarchy'], ('model/controls/hierarchy-seed0/mp-bert4cr',))
    """
    return [*_trunk(setup), *(_training(setup, name) for rows in ROWS.values() for name in rows)]


def control_exhibits(setup: Setup, sample: int | None, cache: Path) -> list[Exhibit]:
    """A table for each group, with the columns of Table 4, of the same queries.

    Args:
        setup: of the reproduction.
        sample: number of queries; None: all.
        cache: folder of encoded papers.
    """
    trunk = tuple(training.name for training in _trunk(setup))
    made = []
    for group, rows in ROWS.items():
        line: list[Any] = ["evaluate", "cocitation"]
        for name in rows:
            line += ["--model", f"{control_folder(setup.model, name, setup.seed)}={name}"]
        line += ["--baselines", "none", "--base", rows[0], "--cache", cache]
        if sample is not None:
            line += ["--sample", sample]
        needs = (*(trunk if group == "hierarchy" else ()), *map(_name, rows))
        make = partial(_measure, rows=rows, sample=sample, cache=cache)
        command = setup.command(*line, "--seed", setup.query_seed)
        made.append(Exhibit(group, TITLES[group], make, command, needs))
    return made


def _measure(setup: Setup, *, rows: Sequence[str], sample: int | None, cache: Path) -> Table:
    tables = cocitation_tables(
        setup.corpus,
        [ModelFolder(control_folder(setup.model, name, setup.seed), name) for name in rows],
        baselines=(),
        sample=sample,
        seed=setup.query_seed,
        base=rows[0],
        cache=cache,
        bars=setup.bars,
    ).tables
    return next(table for table in tables if table.title.startswith("Table 4"))


def _trunk(setup: Setup) -> list[Training]:
    """The training of the trunk, where it is an artifact of the model folder: a setting may name another encoder."""
    hierarchy: Any = _load(setup, ROWS["hierarchy"][0])
    changes = TINY_ENCODER if setup.size == "toy" else ()
    return [
        replace(recipe_training(name, name, changes), is_beside=True) for name in hierarchy.texts.components
    ]


def _training(setup: Setup, name: str) -> Training:
    artifact = control_folder(setup.model, name, setup.seed).relative_to(setup.folder) / DEFAULT_ENCODER

    def train(setup: Setup, minutes: float | None) -> None:
        train_controls(
            setup.corpus,
            setup.model,
            rows=[name],
            seeds=[setup.seed],
            overrides=_overrides(setup, name, minutes),
            options=setup.launch,
            bars=setup.bars,
        )

    recipe = CONTROLS[name].recipe
    return Training(_name(name), (str(artifact),), train, 1.0, recipe, lambda s: _load(s, name), True)


def _name(row: str) -> str:
    """Of the training of a row: rows of Table 3 have some of these names too."""
    return f"control: {row}"


def _load(setup: Setup, name: str) -> object:
    """The recipe of a row, with what the setup changes in it."""
    control = CONTROLS[name]
    return load_recipe(control.recipe, [*_overrides(setup, name, None), *control.overrides])


def _overrides(setup: Setup, name: str, minutes: float | None) -> list[str]:
    recipe = CONTROLS[name].recipe
    _, more = changed_recipe(setup.settings, recipe, recipe)
    return overrides_of(setup, recipe, [*(TINY if setup.size == "toy" else ()), *more], minutes)

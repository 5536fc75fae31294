"""Settings of the baselines that are trained while a table is made: a size's own, and what a user changes in them.

They are text, as on the command line, so that the command beside a table names them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cocite.systems.baselines.train import BaselineSettings
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.recipe_settings import BASELINES, OPTION, changed_recipe


def baseline_changes(setup: Setup, of_size: Sequence[str]) -> list[str]:
    """What is changed in the baselines' settings, the user's last.

    Args:
        setup: of the reproduction, whose settings of the kind ``baselines`` are meant.
        of_size: ``key.path=value``.

    Example:
        >>> from pathlib import Path
        >>> from cocite.corpus.starter import starter_corpus
        >>> setup = Setup(starter_corpus(), Path("to"), "toy", settings=("baselines.w2v.window=5",))
        >>> baseline_changes(setup, ["w2v.epochs=1"])
        ['w2v.epochs=1', 'w2v.window=5']
    """
    _, more = changed_recipe(setup.settings, BASELINES, "")
    return [*of_size, *more]


def baseline_settings(changes: Sequence[str]) -> BaselineSettings:
    """The settings with some changes.

    Raises:
        ConfigError: one of them names no setting, or a value that is not allowed.

    Example:
        >>> baseline_settings(["w2v.window=5"]).w2v.window
        5
    """
    return BaselineSettings.parse({}, overrides=changes, option=OPTION)


def baseline_options(changes: Sequence[str]) -> list[str]:
    """The options of ``cocite evaluate cocitation`` and ``evaluate reranking`` that make the same changes.

    Example:
        >>> baseline_options(["w2v.window=5"])
        ['--setting', 'w2v.window=5']
    """
    return [part for change in changes for part in ("--setting", change)]

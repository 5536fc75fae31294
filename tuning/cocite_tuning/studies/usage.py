"""The commands that use what a sweep found, as a user types them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import yaml

from cocite.config import Settings, flat
from cocite.manifests import MANIFEST, read_manifest
from cocite_jobs.training.recipes import load_recipe

INDEX = Path("index")
"""The index folder that commands name where a sweep was given none."""
MODEL = Path("model")
"""The model folder that commands name where a sweep was given none."""


@dataclass(frozen=True)
class UsageCommands:
    """How the parameters of a trial are put to use.

    Attributes:
        commands: to be run in this order.
        notes: what the commands do not say, a sentence each.

    Example:
        >>> serve = command_line("cocite", "serve", "--index", INDEX, "--set", override("depth", 100))
        >>> UsageCommands((serve,)).commands
        ('cocite serve --index index --set depth=100',)
    """

    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@runtime_checkable
class Exportable(Protocol):
    """A study that can put a choice of parameters to use.

    Example:
        >>> from cocite_tuning.studies.bm25 import Bm25Study
        >>> from cocite_tuning.studies.bm25_settings import Bm25StudySettings
        >>> study = Bm25Study(Bm25StudySettings(fields=("text",)), Path("corpus"), Path("shared"))
        >>> isinstance(study, Exportable)
        True
        >>> print(*study.usage({"k1": 2.0}, "corpus", Path("sweep/best")).commands, sep="\\n")
        cocite index build corpus --to index --bm25 text.k1=2.0
        cocite rank --index index --pipeline bm25 --form context+title --queries queries.jsonl --to run.trec
    """

    def export(self, params: Mapping[str, Any], folder: Path) -> None:
        """Write an artifact that uses the parameters into a folder, which need not exist; a study may write none."""
        ...

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:
        """The commands that use a choice of parameters.

        Args:
            params: dotted name -> value.
            corpus: path or URI of the corpus store, as the user named it.
            best: the folder that :meth:`export` wrote to, or that holds the best trial's model.
        """
        ...


def command_line(*words: object) -> str:
    """A command line, quoted for a shell.

    Example:
        >>> command_line("cocite", "index", "build", Path("my corpus"))
        "cocite index build 'my corpus'"
    """
    return shlex.join(str(word) for word in words)


def override(key: str, value: Any) -> str:
    """``key=value`` as overrides of the command line are written: the value as YAML on one line.

    Example:
        >>> override("training.optimizer.learning_rate", 1e-05), override("workers.storage", None)
        ('training.optimizer.learning_rate=1.0e-05', 'workers.storage=null')
    """
    text = yaml.safe_dump([value], default_flow_style=True, width=float("inf"), allow_unicode=True)
    return f"{key}={text.strip()[1:-1]}"


def recipe_overrides(name: str, recipe: Mapping[str, Any]) -> list[str]:
    """The overrides by which a recipe, given as plain data, differs from the recipe of a name."""
    known = flat(load_recipe(name).model_dump(mode="json"))
    return [override(key, value) for key, value in flat(recipe).items() if known.get(key, _MISSING) != value]


_MISSING = object()


def train_command(name: str, recipe: Mapping[str, Any] | Settings, corpus: str, to: Path) -> str:
    """The command that trains a recipe, written as overrides of the recipe of a name."""
    data = recipe.model_dump(mode="json") if isinstance(recipe, Settings) else recipe
    return command_line(
        "cocite", "train", name, *recipe_overrides(name, data), "--corpus", corpus, "--to", to
    )


def retrain_commands(model: Path | None, names: Iterable[str], corpus: str, index: Path | None) -> list[str]:
    """The commands that retrain a model folder's fusions and its confidence, whose input signals have changed.

    Args:
        model: the folder; None: there is none.
        names: the components of the folder that are considered.
        corpus: to train on.
        index: an index folder whose vectors, k1 and b are used; None: as in the recipe.
    """
    result = []
    for name in ("fusion", "final", "confidence"):
        if model is not None and name in names and (model / name / MANIFEST).is_file():
            recipe = dict(read_manifest(model / name).meta.get("recipe", {}))
            more = {"index": str(index)} if index is not None else {}
            result.append(train_command(name, {**recipe, **more}, corpus, model))
    return result

"""How what a sweep found is used: the commands that do it, as a user types them."""

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
"""The index folder of commands where a sweep was given none."""
MODEL = Path("model")
"""The model folder of commands where a sweep was given none."""


@dataclass(frozen=True)
class Locations:
    """Where things lie, as the user named them.

    Attributes:
        corpus: path or URI of the corpus store.
        sweep: folder of the sweep.
        best: folder within it that holds what the sweep leaves.
    """

    corpus: str
    sweep: Path
    best: Path


@dataclass(frozen=True)
class Usage:
    """What to do with what was found.

    Attributes:
        commands: in this order.
        notes: what they do not say, a sentence each.
    """

    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@runtime_checkable
class Usable(Protocol):
    """A study that knows how what it tunes is used."""

    def leave(self, params: Mapping[str, Any], best: Path) -> None:
        """Write what can be used as it is into a folder, which need not exist yet; of a training, nothing."""
        ...

    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:
        """The commands that use a choice of parameters, once it was left."""
        ...


def command(*words: object) -> str:
    """A command line, quoted for a shell."""
    return shlex.join(str(word) for word in words)


def setting(key: str, value: Any) -> str:
    """``key=value`` as overrides read it: the value in YAML, on one line."""
    text = yaml.safe_dump([value], default_flow_style=True, width=float("inf"), allow_unicode=True)
    return f"{key}={text.strip()[1:-1]}"


def overrides(name: str, recipe: Mapping[str, Any]) -> list[str]:
    """The overrides that make a recipe, given as plain data, of the one of a name."""
    known = flat(load_recipe(name).model_dump(mode="json"))
    return [setting(key, value) for key, value in flat(recipe).items() if known.get(key, _NONE) != value]


_NONE = object()


def training(name: str, recipe: Mapping[str, Any] | Settings, corpus: str, to: Path) -> str:
    """The command that trains a recipe, given as plain data, by the name of the one it derives from."""
    data = recipe.model_dump(mode="json") if isinstance(recipe, Settings) else recipe
    return command("cocite", "train", name, *overrides(name, data), "--corpus", corpus, "--to", to)


def retraining(model: Path | None, members: Iterable[str], corpus: str, index: Path | None) -> list[str]:
    """The commands that train the learned fusions of a model folder again, as they were but over what is new beneath.

    Args:
        model: the folder; None: there is none.
        members: those of the folder that are looked at.
        corpus: to train on.
        index: whose vectors, k1 and b are to be used; None: as before.
    """
    result = []
    for name in ("fusion", "final"):
        if model is not None and name in members and (model / name / MANIFEST).is_file():
            recipe = dict(read_manifest(model / name).meta.get("recipe", {}))
            more = {"index": str(index)} if index is not None else {}
            result.append(training(name, {**recipe, **more}, corpus, model))
    return result

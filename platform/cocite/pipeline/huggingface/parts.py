"""Which parts of a model folder go into a repository, and what their manifests say of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.errors import InputError, NotFoundError
from cocite.manifests import MANIFEST, Manifest, read_manifest
from cocite.pipeline.components import component_names

KINDS: dict[str, str] = {
    **{name: name for name in component_names()},
    "fusion": "learned-fusion",
    "final": "learned-fusion",
    "masked-lm": "masked-lm",
    "bi-encoder": "bi-encoder",
    "mp-bert4cr-pretraining": "mp-bert4cr-pretraining",
}
"""Name of a part that may be published -> kind of its artifact.

Golden queries and what trainings prepare are not published: they hold texts of the corpus, and are made again.
"""
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True)
class Part:
    """A part of a model folder.

    Attributes:
        name: one of :data:`KINDS`.
        folder: where its files are.
        manifest: of the artifact.

    Example:
        >>> meta = {"dev": {"MRR": 0.31, "loss": 0.7, "seconds": 9.0}, "recipe": {"encoder": "org/encoder"}}
        >>> part = Part("sentence", Path("model/sentence"), Manifest("sentence", meta, {}))
        >>> part.dev, part.base
        ({'MRR': 0.31}, 'org/encoder')
    """

    name: str
    folder: Path
    manifest: Manifest

    @property
    def meta(self) -> dict[str, Any]:
        """The description in the manifest."""
        return self.manifest.meta

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings of the training; empty where the manifest has none."""
        recipe = self.meta.get("recipe")
        return recipe if isinstance(recipe, dict) else {}

    @property
    def corpus(self) -> str | None:
        """Version of the corpus that it was trained on; None: it was trained on none, or the manifest has none."""
        version = self.meta.get("corpus")
        return version if isinstance(version, str) else None

    @property
    def dev(self) -> dict[str, float]:
        """The finite dev metrics of the manifest, without seconds and the training loss."""
        dev = self.meta.get("dev")
        return {
            name: float(value)
            for name, value in (dev if isinstance(dev, dict) else {}).items()
            if name not in ("loss", "seconds") and isinstance(value, int | float) and math.isfinite(value)
        }

    @property
    def encoder(self) -> str | None:
        """What the recipe names as pretrained weights: a name on the hub, or a path; None: no such weights."""
        name = self.recipe.get("encoder")
        return name if isinstance(name, str) and name else None

    @property
    def base(self) -> str | None:
        """The name on the hub of the weights that the training began from; None where it began from a folder."""
        name = self.encoder
        known = name is not None and _HUB_NAME.fullmatch(name) is not None and not Path(name).exists()
        return name if known else None


def parts_of(model: Path) -> tuple[list[Part], list[str]]:
    """The parts of a model folder that may be published, and the names of its other artifacts.

    Args:
        model: a model folder, or one part of it.

    Raises:
        NotFoundError: there is no such folder, or it holds no part.
        InputError: it is an artifact that is no part of a model.
    """
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    if (model / MANIFEST).is_file():
        manifest = read_manifest(model)
        names = [name for name, kind in KINDS.items() if kind == manifest.kind]
        if not names:
            raise InputError(
                f"is a {manifest.kind}, which is not published",
                where=str(model),
                hint=f"name a model folder, or a part of it: {', '.join(KINDS)}",
            )
        own = model.resolve().name
        return [Part(own if own in names else names[0], model, manifest)], []
    parts = [
        Part(name, model / name, read_manifest(model / name, kind=kind))
        for name, kind in KINDS.items()
        if (model / name).is_dir()
    ]
    if not parts:
        raise NotFoundError(
            f"holds none of {', '.join(KINDS)}", where=str(model), hint="train one: cocite train nnselect …"
        )
    others = sorted(path.parent.name for path in model.glob(f"[!.]*/{MANIFEST}"))
    return parts, [name for name in others if name not in KINDS]

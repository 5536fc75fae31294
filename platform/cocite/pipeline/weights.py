"""Weights of the first stage's blend: signal -> weight, each signal scaled to 1 for the query's best paper.

A model folder may hold weights of its own (:class:`Blend`), which then replace these.

The weights maximise, by coordinate ascent, the recall on the ACL corpus' dev split with the history before it
(``benchmarks/first_stage.py``); since every signal is scaled, they carry over to other corpora. A signal whose encoder
is not in use is left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from cocite.artifacts import publish
from cocite.atomic_files import write_atomic
from cocite.bounds import Factor, Name
from cocite.config import Settings
from cocite.manifests import read_json
from cocite.verification import open_verified

KIND = "blend"
WEIGHTS = "weights.json"
LOCAL_WEIGHTS: dict[str, float] = {
    "hatten": 1.2,
    "mp-bert4cr": 0.8,
    "nnselect": 0.4,
    "sentence": 0.5,
    "sentence:manuscript": 0.1,
    "whole>text": 0.8,
    "title>title": 0.4,
    "title>text": 0.1,
    "whole>anchors": 0.1,
    "context>text": 0.4,
    "context>title": 0.1,
    "context>anchors": 0.1,
    "near>title": 0.2,
    "near>anchors": 0.1,
    "sentences": 0.5,
    "sentences:cubes": 0.2,
    "near-sentences": 0.4,
    "cites-neighbours": 0.4,
    "shared-authors": 0.8,
    "names": 0.4,
}
GLOBAL_WEIGHTS: dict[str, float] = {
    "hatten": 0.1,
    "nnselect": 0.3,
    "sentence": 0.4,
    "whole>text": 0.8,
    "title>text": 0.2,
    "whole>anchors": 0.1,
    "neighbours-20": 0.1,
    "neighbours-50": 0.2,
    "neighbours-150": 0.2,
    "cites-neighbours": 0.2,
    "sentences": 0.1,
    "sentences:cubes": 0.2,
    "shared-authors": 0.2,
    "past-citations": 0.2,
    "recent-in-citations": 0.1,
}
GLOBAL_NEURAL_WEIGHTS: dict[str, float] = {
    "hatten": 0.2,
    "nnselect": 0.3,
    "sentence": 0.4,
    "whole>text": 0.05,
    "whole>title": 0.1,
    "whole>anchors": 0.1,
    "neighbours-50": 0.1,
    "neighbours-150": 0.1,
    "cites-neighbours": 0.2,
    "sentences:cubes": 0.05,
    "recent-in-citations": 0.2,
    "shared-authors": 0.3,
    "past-citations": 0.3,
    "venue-interest": 0.05,
}
"""For global queries where two encoders or more are in use: they cover most of what the matching of words adds."""


def weights_for(encoders: Collection[str], blend: Blend | None = None) -> Mapping[str, Mapping[str, float]]:
    """The weights for ``local`` and ``global`` queries.

    Args:
        encoders: names of the encoders in use.
        blend: replaces the shipped weights of each kind of query that it has weights for.

    Example:
        >>> weights_for([])["global"]["whole>text"], weights_for(["hatten", "nnselect"])["global"]["whole>text"]
        (0.8, 0.05)
    """
    shipped = {
        "local": LOCAL_WEIGHTS,
        "global": GLOBAL_NEURAL_WEIGHTS if len(encoders) > 1 else GLOBAL_WEIGHTS,
    }
    tuned = blend.kinds if blend else {}
    return shipped | {kind: weights.weights for kind, weights in tuned.items()}


class KindWeights(Settings):
    """All weights for one kind of query.

    Example:
        >>> KindWeights(encoders=("sentence",), weights={"sentence": 0.5, "whole>text": 1.0}).weights["sentence"]
        0.5
    """

    encoders: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """The encoders in use when the weights were tuned: beside further encoders the weights do not apply."""
    weights: Annotated[dict[Name, Factor], Field(min_length=1, max_length=1000)]
    """Signal -> weight; the weight of other signals is 0."""


class Blend(Settings):
    """The component ``blend`` of a model folder: weights of the first stage's blend.

    Example:
        >>> import tempfile
        >>> blend = Blend(local=KindWeights(weights={"whole>text": 1.0}))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     blend.save(Path(folder) / "blend", meta={"tuned": "by hand"})
        ...     list(Blend.read(Path(folder) / "blend").kinds)
        ['local']
    """

    local: KindWeights | None = None
    global_: KindWeights | None = Field(None, alias="global")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.kinds:
            raise ValueError("has weights of neither local nor global queries")
        return self

    @property
    def kinds(self) -> dict[str, KindWeights]:
        """The weights by kind of query, without the kinds that have none."""
        by_kind = {"local": self.local, "global": self.global_}
        return {kind: weighing for kind, weighing in by_kind.items() if weighing is not None}

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the artifact.

        Raises:
            ConfigError: a weight is not a number in bounds, or a key is unknown.
        """
        open_verified(folder, kind=KIND)
        return cls.parse(read_json(folder / WEIGHTS), where=str(folder / WEIGHTS))

    def save(self, folder: Path, meta: dict[str, Any]) -> None:
        """Write the artifact, replacing an earlier one; ``meta`` says where the weights come from."""
        with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
            data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
            write_atomic(temporary / WEIGHTS, json.dumps(data, indent=1) + "\n")

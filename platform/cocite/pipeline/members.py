"""A model folder's members: which of them are there, and how each is loaded.

| member | is |
| --- | --- |
| ``nnselect``, ``hatten``, ``sentence`` | encoders: papers and queries as vectors |
| ``nnrank`` | scores candidates by title and abstract |
| ``fusion`` | LambdaMART over all signals |

Each is an artifact of its own. What is missing is done without: no encoder, no vectors; no fusion, the order of NNRank,
or of the first stage.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from cocite.artifacts import read_manifest
from cocite.errors import NotFoundError
from cocite.protocols import Encoder, Reranker
from cocite.reranking.learned_fusion import LearnedFusion
from cocite.retrieval.index import Index

ENCODERS = {
    "nnselect": "cocite.models.citeomatic:load_encoder",
    "hatten": "cocite.models.hatten:load_hatten_encoder",
    "sentence": "cocite.models.sentence:load_sentence_encoder",
}
"""Encoder -> ``module:function`` that loads it from its folder. Named by string: imported when used."""
MEMBERS = (*ENCODERS, "nnrank", "fusion")


def check(model: Path) -> list[str]:
    """The members a model folder has; raises when there is no folder or not one member."""
    if not model.is_dir():
        raise NotFoundError("no such model folder", where=str(model))
    found = [name for name in MEMBERS if (model / name).is_dir()]
    if not found:
        raise NotFoundError(
            f"holds none of {', '.join(MEMBERS)}",
            where=str(model),
            hint="train a model: cocite train nnselect …",
        )
    return found


def version(model: Path | None) -> str:
    """Fingerprint of all members: 16 hexadecimal digits; empty without a model."""
    if model is None:
        return ""
    digests = [f"{name}:{read_manifest(model / name).digest}" for name in check(model)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def load_encoder(model: Path, name: str) -> Encoder | None:
    """The encoder of a name, one of :data:`ENCODERS`, if the folder has it."""
    if not (model / name).is_dir():
        return None
    module, function = ENCODERS[name].split(":")
    load: Callable[[Path], Encoder] = getattr(importlib.import_module(module), function)
    return load(model / name)


def load_encoders(model: Path | None, among: Sequence[str] = tuple(ENCODERS)) -> list[Encoder]:
    """The encoders that a model folder has, those of some names alone if told so; without a folder, none."""
    if model is None:
        return []
    found = (load_encoder(model, name) for name in ENCODERS if name in among)
    return [encoder for encoder in found if encoder is not None]


def load_nnrank(model: Path, index: Index) -> Reranker | None:
    """NNRank over an index' papers and history, if the folder has it."""
    if not (model / "nnrank").is_dir():
        return None
    from cocite.models import citeomatic

    encoder = load_encoder(model, "nnselect")
    known = encoder is not None and index.encoder_ids.get(encoder.name) == encoder.id
    vectors = index.vectors["nnselect"].raw if known else None
    return citeomatic.load_reranker(model / "nnrank", index.corpus, index.history, vectors=vectors)


def load_fusions(model: Path) -> dict[str, LearnedFusion]:
    """The learned fusions by kind of query, ``local`` and ``global``, if the folder has them."""
    return LearnedFusion.load_all(model / "fusion") if (model / "fusion").is_dir() else {}

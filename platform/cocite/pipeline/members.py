"""A model folder's members: which of them are there, and how each is loaded.

A model folder holds any of ``nnselect/``, ``nnrank/`` and ``fusion/``, each an artifact of its own. What is missing is
done without: no NNSelect, no vectors; no fusion, the order of NNRank, or of the first stage.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from cocite.artifacts import read_manifest
from cocite.errors import NotFoundError
from cocite.protocols import Encoder, Reranker
from cocite.reranking.learned_fusion import LearnedFusion
from cocite.retrieval.index import Index

MEMBERS = ("nnselect", "nnrank", "fusion")


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


def load_encoder(model: Path) -> Encoder | None:
    """NNSelect, if the folder has it."""
    if not (model / "nnselect").is_dir():
        return None
    from cocite.models import citeomatic

    return citeomatic.load_encoder(model / "nnselect")


def load_nnrank(model: Path, index: Index) -> Reranker | None:
    """NNRank over an index' papers and history, if the folder has it."""
    if not (model / "nnrank").is_dir():
        return None
    from cocite.models import citeomatic

    encoder = load_encoder(model)
    vectors = (
        index.vectors.raw
        if index.vectors is not None and encoder and encoder.id == index.encoder_id
        else None
    )
    return citeomatic.load_reranker(model / "nnrank", index.corpus, index.history, vectors=vectors)


def load_fusions(model: Path) -> dict[str, LearnedFusion]:
    """The learned fusions by kind of query, ``local`` and ``global``, if the folder has them."""
    return LearnedFusion.load_all(model / "fusion") if (model / "fusion").is_dir() else {}

"""Puts a public sentence encoder into a model folder."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.sentence_encoder.encoder import (
    SentenceRecipe,
    load_sentence_encoder,
    save_sentence_encoder,
)
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact

LOOKED_AT = 64
"""Papers that are encoded to see that the vectors are sound."""


def train_sentence(
    recipe: SentenceRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
    *,
    fresh: bool = False,  # noqa: ARG001  (seconds long: there is nothing to go on from)
) -> TrainedArtifact:
    """Copy the encoder to ``to/sentence`` and look at vectors of some papers of the corpus."""
    began = time.monotonic()
    progress.stage("copying the encoder", 0)
    save_sentence_encoder(to / "sentence", recipe, {"recipe": recipe.model_dump(mode="json")})
    encoder = load_sentence_encoder(to / "sentence")
    rows = np.arange(min(len(corpus), LOOKED_AT), dtype=np.int32)
    progress.stage("looking at vectors", 0)
    vectors = encoder.encode_papers(corpus, rows)
    if not np.isfinite(vectors).all():
        raise InputError("its vectors are not numbers", where=recipe.encoder)
    details = {
        "dimension": encoder.dimension,
        **encoder.settings.model_dump(),
        "precision": str(encoder.dtype).removeprefix("torch."),
        "seconds": time.monotonic() - began,
    }
    return TrainedArtifact(to / "sentence", {}, details)

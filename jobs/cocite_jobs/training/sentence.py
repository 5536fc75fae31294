"""Copies a public sentence encoder into a model folder; nothing is trained."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact

CHECKED_PAPERS = 64
"""Papers that are encoded to check that the vectors are finite."""


def train_sentence(
    recipe: SentenceRecipe,
    corpus: Corpus,
    to: Path,
    progress: ProgressCallback,
) -> TrainedArtifact:
    """Copy the encoder to ``to/sentence``, and check its vectors of some papers of the corpus.

    Args:
        recipe: names the encoder, a folder or a model of the hub.
        corpus: whose first papers are encoded.
        to: the model folder.
        progress: called while it runs.

    Raises:
        InputError: a vector has a number that is not finite.
    """
    began = time.monotonic()
    progress.stage("copying the encoder", 0)
    save_sentence_encoder(to / "sentence", recipe, {"recipe": recipe.model_dump(mode="json")})
    encoder = load_sentence_encoder(to / "sentence")
    rows = np.arange(min(len(corpus), CHECKED_PAPERS), dtype=np.int32)
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

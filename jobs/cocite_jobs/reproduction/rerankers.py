"""The cross-encoders of the plans, and the encoder that they start from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cocite.systems.cross_encoder.network import SCIBERT
from cocite_jobs.reproduction.plan import Setup, Training
from cocite_jobs.reproduction.training_step import recipe_training
from cocite_jobs.tables.cocitation_variants import link_part

ENCODER = "encoder"
"""Name of the training of the encoder."""
NO_LIST = "It compares encoders: name several, as --encoder FIRST --encoder SECOND."
"""Why a table of encoders is not made."""
TINY_ENCODER = (
    *("texts.vocabulary=400", "texts.sequence=64", "texts.body=4", "texts.dev_pieces=20"),
    *("model.hidden=32", "model.layers=1", "model.heads=2", "model.inner=64", "model.positions=128"),
    *("training.batch=16", "training.tokens=1024", "training.precision=fp32", "training.evaluate_every=0"),
    *("training.steps=4", "training.checkpoint_every=2"),
)
TINY = (
    *("pairs.query_tokens=48", "pairs.candidate_tokens=32", "pairs.context_tokens=24", "candidates.years=50"),
    *("candidates.queries=40", "candidates.dev_queries=8", "candidates.dev_depth=8"),
    *("training.batch=4", "training.tokens=1024", "training.precision=fp32", "training.evaluate_every=0"),
    *("training.steps=4", "training.checkpoint_every=2"),
)


def encoder_trainings(setup: Setup) -> list[Training]:
    """The pretraining of an encoder on the corpus, where the setup names none and the size's recipe has none."""
    if setup.encoder is not None or setup.size == "paper":
        return []
    return [recipe_training(ENCODER, "masked-lm", TINY_ENCODER if setup.size == "toy" else ())]


def first_encoder(setup: Setup) -> str:
    """What the encoder of most tables is called: its name or folder, or where it is from if the setup names none."""
    return setup.encoder or (SCIBERT if setup.size == "paper" else "pretrained on the corpus")


def further_folders(setup: Setup) -> dict[str, Path]:
    """Each encoder that is named after the first -> the model folder of its reranker.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> setup = Setup(starter_corpus(), Path("to"), "toy", encoder="first", more_encoders=("allenai/scibert",))
        >>> {name: str(folder) for name, folder in further_folders(setup).items()}
        {'allenai/scibert': 'to/encoders/allenai-scibert-be95de'}
    """
    return {name: setup.folder / "encoders" / _folder_name(name) for name in setup.more_encoders}


def reranker_training(
    setup: Setup,
    name: str,
    recipe: str,
    changes: Sequence[str],
    *,
    own: Sequence[str] = (),
    to: str,
    encoder: str | None = None,
    weight: float = 2,
    inputs: Sequence[str] = (),
    of: str = "model",
) -> Training:
    """A cross-encoder from a pretrained encoder.

    Args:
        setup: of the reproduction.
        name: of the training.
        recipe: of the size.
        changes: of the paper, in that recipe.
        own: of this reranker alone, see :func:`~cocite_jobs.reproduction.training_step.recipe_training`.
        to: model folder below that of the reproduction.
        encoder: name or folder; None: the setup's.
        weight: its part of a budget.
        inputs: artifacts that it takes from the folder ``of``, where that has them, instead of making them again.
        of: the model folder, below that of the reproduction, of a reranker that needs the same ones.
    """
    encoder = setup.encoder if encoder is None else encoder
    begin: list[str] = ["keep=always"]
    if encoder is not None:
        begin.append(f"encoder={encoder}")
    elif setup.size != "paper":
        begin += [f"encoder={(setup.model / 'masked-lm').absolute()}", "readout=first"]
    tiny = TINY if setup.size == "toy" else ()
    training = recipe_training(name, recipe, [*begin, *tiny, *changes], own=own, to=to, weight=weight)

    def train(setup: Setup, minutes: float | None) -> None:
        for part in inputs:
            link_part(part, [setup.folder / of], setup.folder / to)
        training.train(setup, minutes)

    return replace(training, train=train)


def _folder_name(encoder: str) -> str:
    """A readable name of a folder, and one's own for each encoder."""
    key = str(Path(encoder).resolve()) if Path(encoder).is_dir() else encoder
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", encoder).strip("-.")[-60:]
    return f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:6]}"

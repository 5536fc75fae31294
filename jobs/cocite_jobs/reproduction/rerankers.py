"""The cross-encoders of the plans, and the encoder that they start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cocite_jobs.reproduction.plan import Setup, Training
from cocite_jobs.reproduction.training_step import recipe_training
from cocite_jobs.tables.cocitation_variants import link_part

ENCODER = "encoder"
"""Name of the training of the encoder."""
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
        inputs: artifacts that it takes from the model folder of most trainings, where that has them, instead of making
            them again.
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
            link_part(part, [setup.model], setup.folder / to)
        training.train(setup, minutes)

    return replace(training, train=train)

"""Makes the artifact of the candidates that a reranker is trained on, a block of queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.pipeline.candidate_mining import Miner, MiningBlock, MiningPlan
from cocite.pipeline.components import load_encoder
from cocite.protocols import Encoder
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.training import candidates
from cocite.training.candidates import CandidateSettings
from cocite.training.input_artifacts import Advance, Stage, component_digests, make_input
from cocite.training.periods import Periods

Mine = Callable[[MiningPlan], Iterable[tuple[MiningBlock, NDArray[np.int32]]]]
"""Gives the candidates (q, k) of all blocks of a plan, in any order."""


def open_miner(plan: MiningPlan, periods: Periods, encoder: Encoder | None = None) -> Miner:
    """What finds the candidates of a plan, over an index with the training period as its history.

    Args:
        plan: its settings name the index whose words and counts are used, if any.
        periods: of the corpus.
        encoder: whose nearest papers are the candidates, where the settings name one.

    Raises:
        InputError: the index is of another corpus, or knows less than the history.
    """
    saved = open_index(Path(plan.settings.index)) if plan.settings.index is not None else None
    encoders = [] if encoder is None else [encoder]
    index = index_of(periods.history.corpus, periods.history, encoders, saved=saved)
    return Miner.over(index, plan, encoder)


def prepare(
    settings: CandidateSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Stage = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make the candidates unless the folder holds those of this corpus and these settings already.

    Args:
        settings: whose candidates.
        corpus: papers, links and contexts.
        folder: where the artifact is or is to be, in the model folder that holds the encoder that the settings name.
        stage: called with a description of each part and its number of queries.
        advance: called with the number of queries of each finished block.

    Returns:
        Whether the candidates were made.

    Raises:
        NotFoundError: the model folder lacks the encoder.
        InputError: a period has no query, or the index does not fit.
    """
    periods = Periods.of(corpus, settings.period)

    def mine(plan: MiningPlan) -> Iterator[tuple[MiningBlock, NDArray[np.int32]]]:
        stage("candidates: indexing", 0)
        encoder = next((load_encoder(folder.parent, name) for name in settings.components), None)
        miner, part = open_miner(plan, periods, encoder), None
        for block in plan.blocks:
            if block.part != part:
                part = block.part
                stage(f"candidates: {part} queries", len(plan.parts[part]))
            yield block, miner.find(block)
            advance(len(block))

    return prepare_by(mine, settings, periods, folder)


def prepare_by(mine: Mine, settings: CandidateSettings, periods: Periods, folder: Path) -> bool:
    """Make the candidates as :func:`prepare` does, with what finds them given.

    The candidates are written where they stay: those of one block are in memory at a time.

    Args:
        mine: finds the candidates of all blocks.
        settings: whose candidates.
        periods: of the corpus.
        folder: where the artifact is or is to be.

    Returns:
        Whether the candidates were made.

    Raises:
        InputError: a period has no query.
    """

    def write(to: Path) -> dict[str, Any]:
        plan = MiningPlan.of(settings, periods)
        rows = candidates.create(to, plan.parts)
        for block, found in mine(plan):
            rows[block.part][block.queries] = found
        for array in rows.values():
            array.flush()
        return {"task": settings.task, "queries": {name: len(part) for name, part in plan.parts.items()}}

    more = component_digests(settings, folder.parent)
    if not periods.years_separate:
        more["history"] = "split"
    return make_input(candidates.KIND, settings, periods.history.corpus, folder, write, more=more)

"""Texts that the cross-encoder is to score: the jobs of the reranker's queue beside recommendations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cocite_serve.http.text_work import CrossEncoderFacts, ScoreWork

if TYPE_CHECKING:
    from cocite.pipeline.second_stage import SecondStage
    from cocite.pipeline.text_scores import TextScores


@dataclass(eq=False)
class Score:
    """A query with texts that wait for their scores.

    Example:
        >>> from cocite.protocols import Query
        >>> Score(ScoreWork(Query("q", title="Parsing"), ("Chart parsing",))).reading is None
        True
    """

    work: ScoreWork
    reading: TextScores | None = None
    """Once it is open."""

    def open(self, stage: SecondStage) -> TextScores:
        """Tokenise the pairs."""
        from cocite.pipeline.text_scores import TextScores

        self.reading = TextScores(stage, self.work.query, self.work.texts, whole=self.work.whole)
        return self.reading

    def result(self) -> NDArray[np.float32]:
        """(r,) the logits of the texts, in their order."""
        assert self.reading is not None, "a job is opened before it is read"
        return self.reading.logits


def facts_of(stage: SecondStage) -> CrossEncoderFacts | None:
    """What is known of a second stage's cross-encoder; None where it has none."""
    from cocite.pipeline.stepwise_ranking import pair_reader

    reader = pair_reader(stage)
    if reader is None:
        return None
    settings = reader.scorer.pairs.settings
    return CrossEncoderFacts(
        reader.id, settings.layout, settings.total, reader.scorer.chunk_tokens, reader.scorer.precision
    )

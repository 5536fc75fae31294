"""What a model answers to its golden queries, and whether other answers to them are those of the same model.

An index moves on: papers come and go, and with them the order of those that are there. So expected papers are judged by
how many of them are found, and the scores of a stage by their correlation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cocite.errors import CociteError
from cocite.pipeline.options import Recommendation

BEST = 10
"""Papers of an answer that are compared: the best."""
LEAST_PAIRS = 10
"""Scores of a stage that a correlation needs."""
LEAST_PAPERS = 3
"""Papers of an answer whose scores cannot all be equal: two papers can be alike."""


class GoldenError(CociteError):
    """The answers to golden queries are not those of a sound model.

    Example:
        >>> print(GoldenError("all scores of an answer are equal", where="golden-1"))
        golden-1: all scores of an answer are equal
    """


@dataclass(frozen=True)
class GoldenAnswer:
    """The papers that a query was answered with, best first.

    Attributes:
        ids: of the papers.
        scores: of each paper, by the stage that orders them.
        stages: stage -> score of each paper; NaN where the stage did not score it.
        seconds: that the answer took.

    Example:
        >>> answer = GoldenAnswer(("a", "b"), (0.9, 0.1), {"first-stage": (0.9, 0.1)}, seconds=0.02)
        >>> answer.best(1).ids
        ('a',)
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    stages: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, papers: Sequence[Recommendation], seconds: float) -> GoldenAnswer:
        """The answer that a recommendation is."""
        names = sorted({name for paper in papers for name in paper.stages})
        return cls(
            tuple(paper.id for paper in papers),
            tuple(float(paper.score) for paper in papers),
            {name: tuple(float(paper.stages.get(name, np.nan)) for paper in papers) for name in names},
            seconds,
        )

    def best(self, count: int = BEST) -> GoldenAnswer:
        """The first papers alone."""
        stages = {name: values[:count] for name, values in self.stages.items()}
        return GoldenAnswer(self.ids[:count], self.scores[:count], stages, self.seconds)


def check_sound(answers: Mapping[str, GoldenAnswer]) -> None:
    """Refuse answers that no sound model gives, whatever it was asked.

    Args:
        answers: by the id of the query.

    Raises:
        GoldenError: a score is not a finite number, the scores of every answer are all equal, or no query has an
            answer.

    Example:
        >>> check_sound({"q": GoldenAnswer(("a", "b", "c"), (0.9, 0.1, 0.1))})
        >>> check_sound({"q": GoldenAnswer(("a", "b", "c"), (0.5, 0.5, 0.5))})
        Traceback (most recent call last):
        ...
        cocite.pipeline.golden_answers.GoldenError: all scores of an answer are equal, whatever is asked
    """
    if not any(answer.ids for answer in answers.values()):
        raise GoldenError("no golden query was answered with a paper")
    for name, answer in answers.items():
        if not np.isfinite(answer.scores).all():
            raise GoldenError("scores of the answer are not finite numbers", where=name)
    long = [answer.scores for answer in answers.values() if len(answer.scores) >= LEAST_PAPERS]
    if long and all(len(set(scores)) == 1 for scores in long):
        raise GoldenError("all scores of an answer are equal, whatever is asked")


def overlap(
    expected: Mapping[str, GoldenAnswer], found: Mapping[str, GoldenAnswer], known: Collection[str]
) -> float | None:
    """The share of the expected papers that were found, a mean over the queries.

    Args:
        expected: answers by the id of the query, of which the best :data:`BEST` papers count.
        found: other answers to the same queries, of which as many count.
        known: ids of the papers that could be found; an expected one that is not among them does not count.

    Returns:
        From 0 to 1; None: no expected paper is known.

    Example:
        >>> expected = {"q": GoldenAnswer(("a", "b", "c"), (3.0, 2.0, 1.0))}
        >>> overlap(expected, {"q": GoldenAnswer(("c", "x", "b"), (3.0, 2.0, 1.0))}, known={"b", "c", "x"})
        1.0
    """
    shares = []
    for name, answer in expected.items():
        wanted = {id_ for id_ in answer.best().ids if id_ in known}
        if wanted:
            shares.append(len(wanted.intersection(found[name].best().ids)) / len(wanted))
    return float(np.mean(shares)) if shares else None


def correlations(expected: Mapping[str, GoldenAnswer], found: Mapping[str, GoldenAnswer]) -> dict[str, float]:
    """The correlation of the scores that each stage gave the same papers for the same queries.

    Scores are taken from the mean of their query, so that papers of one query are compared alone.

    Args:
        expected: answers by the id of the query.
        found: other answers to the same queries.

    Returns:
        Stage -> Pearson's correlation, 0 where the found scores are all equal. A stage that scored less than
        :data:`LEAST_PAIRS` of the papers, in either, or all alike in the expected answers, is left out.

    Example:
        >>> scores = tuple(float(n) for n in range(12))
        >>> ids = tuple("abcdefghijkl")
        >>> expected = {"q": GoldenAnswer(ids, scores, {"nnrank": scores})}
        >>> found = {"q": GoldenAnswer(ids, scores, {"nnrank": tuple(-score for score in scores)})}
        >>> {stage: round(value, 6) for stage, value in correlations(expected, found).items()}
        {'nnrank': -1.0}
    """
    result = {}
    for stage in sorted({stage for answer in expected.values() for stage in answer.stages}):
        pairs = [_centred(answer, found[name], stage) for name, answer in expected.items()]
        kept, new = np.concatenate(pairs, axis=1)
        if len(kept) >= LEAST_PAIRS and kept.any():
            size = float(np.sqrt((kept**2).sum() * (new**2).sum()))
            result[stage] = float((kept * new).sum()) / size if size else 0.0
    return result


def _centred(expected: GoldenAnswer, found: GoldenAnswer, stage: str) -> NDArray[np.float64]:
    """(2, n) a stage's scores of the papers of both answers, less their means."""
    there = dict(zip(found.ids, found.stages.get(stage, ()), strict=False))
    pairs = [
        (score, there[id_])
        for id_, score in zip(expected.ids, expected.stages.get(stage, ()), strict=False)
        if id_ in there
    ]
    values = np.array(pairs, np.float64).reshape(-1, 2).T
    values = values[:, np.isfinite(values).all(axis=0)]
    return values - values.mean(axis=1, keepdims=True) if values.shape[1] else values

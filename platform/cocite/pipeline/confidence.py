"""Which recommendations get a probability, and what a list of improbable ones is noted with.

A probability is given where the request's last score is one that was calibrated, and None everywhere else: with signals
or weights of the request's own, with seeds, for a text unlike the papers of the index, among papers or years that the
request names, with a number of candidates far from the calibrated one, where a shard of the index did not answer, where
the cross-encoder read fewer candidates than it did then, and for papers that it did not read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import Candidates, Options, Recommendation, Stages, by_kind
from cocite.protocols import NO_ROW, Query
from cocite.systems.confidence.calibration import Calibration, Confidence

LEAST = 0.1
"""Where the most probable paper of a list is below it, the list is noted with "nothing here fits"."""
NO_WORDS = "this text has no words to search with"
"""The note of a list for a text such as ``[CIT]`` alone."""
UNLIKE_CORPUS = "this text is unlike the papers of the corpus, which may hold nothing for it"
"""The note of a list for such a text."""
DEPTHS = (1 / 3, 2.0)
"""Least and most candidates of a request as parts of the calibrated number."""


def confidences(
    confidence: Confidence,
    queries: Sequence[Query],
    candidates: Candidates,
    stages: Stages,
    options: Options,
) -> NDArray[np.float64] | None:
    """(Q, depth) the probability that a query cites a candidate, NaN where none is known.

    Args:
        confidence: the calibrations.
        queries: local and global ones may be mixed.
        candidates: theirs.
        stages: the scores, before anything but scores orders them.
        options: of the request.

    Returns:
        None where the options or the candidates are not those that the scores were calibrated with.

    Example:
        >>> from cocite.protocols import Ranking
        >>> flat = {"weights": (1, 0), "points": (0, 1), "probabilities": (0.1, 0.6), "ranks": 2, "depth": 300}
        >>> confidence = Confidence.parse({"calibrations": {"global": {"fusion": flat}}})
        >>> scores = np.array([[0.2, 5.0, 0.1]], np.float32)
        >>> candidates = Candidates(Ranking(np.array([[7, 8, 9]], np.int32), scores), {"fusion": scores})
        >>> stages = Stages({"fusion": scores}, scores, {"global": "fusion"})
        >>> confidences(confidence, [Query("q", title="Parsing")], candidates, stages, Options()).round(2).tolist()
        [[0.2, 0.6, nan]]
    """
    chosen = options.only is not None or options.year_from is not None or options.year_to is not None
    if chosen or options.retrievers or options.weights or candidates.missing_shards:
        return None
    rows = candidates.top.rows
    result = np.full(rows.shape, np.nan)
    for kind, of_kind in by_kind(queries):
        unlike = candidates.unlike or (False,) * len(queries)
        positions = [i for i in of_kind if not (queries[i].has_seeds or unlike[i])]
        calibration = confidence.of(kind, stages.orders.get(kind, ""))
        if not positions or calibration is None or not _fits(calibration, options):
            continue
        known = (rows[positions] != NO_ROW) & np.isfinite(stages.last[positions])
        scores = np.where(known, stages.last[positions], -np.inf)
        if calibration.rerank:
            read = ~np.isnan(stages.scores["cross-encoder"][positions]) & known
            scores = np.where(read, scores, -np.inf)
            whole = read.sum(axis=1) >= np.minimum(known.sum(axis=1), calibration.rerank)
            scores[~whole] = -np.inf
        result[positions] = calibration.probabilities_of(scores)
    return result


def _fits(calibration: Calibration, options: Options) -> bool:
    """Whether a request asks for about as many candidates as were calibrated, and weighs the cross-encoder the same."""
    least, most = DEPTHS
    if not least * calibration.depth <= options.depth <= most * calibration.depth:
        return False
    if not calibration.rerank:
        return True
    return options.rerank == calibration.rerank and options.cross_weight == Options().cross_weight


def list_note(
    papers: Sequence[Recommendation], *, unlike_corpus: bool = False, has_words: bool = True
) -> str:
    """What a list of papers is noted with; "": with nothing.

    Args:
        papers: best first. Where the most probable of them is below :data:`LEAST`, that is said.
        unlike_corpus: whether the query's text is unlike the papers of the index; that is said before anything else.
        has_words: whether the text has words to search with.

    Example:
        >>> from cocite.pipeline.evidence import Evidence
        >>> paper = Recommendation(7, "bleu", "BLEU", (), 2002, "ACL", "", "", 3.5, {}, Evidence(), confidence=0.04)
        >>> list_note([paper]), list_note([])
        ('nothing here fits: no paper reaches 10 %', '')
        >>> list_note([paper], unlike_corpus=True)
        'this text is unlike the papers of the corpus, which may hold nothing for it'
    """
    if not has_words:
        return NO_WORDS
    if unlike_corpus:
        return UNLIKE_CORPUS
    known = [paper.confidence for paper in papers if paper.confidence is not None]
    if not known or max(known) >= LEAST:
        return ""
    return f"nothing here fits: no paper reaches {LEAST:.0%}".replace("%", " %")


def percentage(confidence: float | None) -> str:
    """A probability for people to read; "" where none is known.

    Example:
        >>> percentage(0.414), percentage(0.004), percentage(0.999), percentage(None)
        ('~41 %', '<1 %', '>99 %', '')
    """
    if confidence is None:
        return ""
    if confidence < 0.01:
        return "<1 %"
    return ">99 %" if confidence > 0.99 else f"~{100 * confidence:.0f} %"

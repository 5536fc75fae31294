"""Measures the probabilities of a model folder on a split that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.report import Report, Table
from cocite.evaluation.tasks import EvalTask
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import CandidateScope, Options
from cocite.pipeline.second_stage import SecondStage
from cocite.progress_bars import Advance, ProgressBars, no_bars
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.systems.confidence.measures import Reliability, brier_score, calibration_error, reliability
from cocite.systems.confidence.task import SHOWN, ScoredQueries, base_rates
from cocite.systems.learned_fusion.examples import relevance_labels
from cocite_jobs.svg_figures import BEST, FAINT, HIGH, new_figure, styled, to_svg

RANKS = ((1, 20), (1, 1), (2, 5), (6, 20))
"""Ranks whose candidates are measured together, first and last."""
THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Probabilities of the best paper below which a list could be noted with "nothing here fits"."""
GOOD = 5
"""A list with a cited paper among so many best ones is a pity to lose."""
BATCH = 64


@dataclass(frozen=True)
class MeasuredConfidence:
    """The report of a measurement, and the picture.

    Example:
        >>> MeasuredConfidence(Report("confidence, local task"), "<svg></svg>").diagram
        '<svg></svg>'
    """

    report: Report
    diagram: str
    """An SVG element: the reliability diagram."""


def evaluate_confidence(
    corpus: Corpus,
    model: Path,
    *,
    task: str = "local",
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    depth: int | None = None,
    rerank: int | None = None,
    candidates: CandidateScope = "older",
    years: tuple[int | None, int | None] = (None, None),
    saved: Path | None = None,
    bars: ProgressBars = no_bars,
) -> MeasuredConfidence:
    """Rank a task's queries as requests are answered, and compare the probabilities with what the queries cite.

    Args:
        corpus: papers, links and contexts.
        model: model folder with the component ``confidence``.
        task: ``local`` or ``global``.
        split: the queries are of its papers.
        sample: number of queries; all by default.
        seed: of the query sample.
        depth: candidates of the second stage; the usual number by default.
        rerank: candidates that the cross-encoder reads, where one does; the calibrated number by default.
        candidates: ``older``: papers of the query's year and earlier, as requests ask for; ``all``.
        years: the earliest and the latest year of a candidate, as a request names them; None: not named.
        saved: an index folder of the same corpus, whose vectors and word statistics are reused.
        bars: of each step.

    Raises:
        InputError: the folder has no probabilities for these requests.
    """
    queries = tasks.build(corpus, task, split, sample=sample, seed=seed)
    history = tasks.history_before(corpus, split)
    with bars("indexing", None) as advance:
        encoders = components.load_encoders(model)
        opened = open_index(saved) if saved is not None else None
        index = index_of(corpus, history, encoders, saved=opened, advance=advance)
    first, second = FirstStage.over(model, index, encoders), SecondStage.load(model, index)
    if second.confidence is None:
        raise InputError(
            "holds no calibration", where=str(model), hint="train one: cocite train confidence --to MODEL"
        )
    final = second.confidence.of(task, "final")
    options = Options(
        depth=depth or Options().depth,
        rerank=(final.rerank if final else 0) if rerank is None else rerank,
        evidence=False,
        candidates=candidates,
        year_from=years[0],
        year_to=years[1],
    )
    with bars("ranking", len(queries)) as advance:
        data, probabilities, stage = _ranked(first, second, queries, options, advance)
    calibration = second.confidence.of(task, stage)
    if calibration is None or np.isnan(probabilities).all():
        raise InputError(
            f"holds no calibration for {task} queries whose last stage is {stage}, at this depth",
            where=str(model / "confidence"),
            hint="train confidence again with tasks, depth and rerank as you ask",
        )
    # Every candidate that is shown must have a probability, or is left out of both, it and its control.
    data = replace(data, scores=np.where(np.isnan(probabilities), -np.inf, data.scores))
    controls = base_rates(calibration, data)
    report = Report(
        f"confidence, {task} task, {split} split",
        {
            "corpus": str(corpus.path),
            "corpus_version": corpus.version,
            "task": task,
            "split": split,
            "queries": len(queries),
            "sample": sample or "all",
            "seed": seed,
            "history_until": str(history.year),
            "candidates": candidates,
            "years": f"{years[0] or ''} to {years[1] or ''}".strip() if any(years) else "all",
            "depth": options.depth,
            "last_stage": stage,
        },
    )
    shown = data.pairs(SHOWN)
    points = reliability(probabilities[shown], data.relevant[shown])
    report.tables += [
        _errors(data, probabilities, controls),
        _points_table(points),
        _notes(data, probabilities),
    ]
    by_width = reliability(probabilities[shown], data.relevant[shown], by="width")
    return MeasuredConfidence(report, draw(by_width, points, f"{task} task, {split} split: {stage}"))


def _ranked(
    first: FirstStage, second: SecondStage, task: EvalTask, options: Options, advance: Advance
) -> tuple[ScoredQueries, NDArray[np.float64], str]:
    """The candidates with their last scores, their probabilities (Q, k), and the name of the last stage.

    The probabilities are those of a request without years: with years an answer has none, and this is how that is known
    to be right.
    """
    scores, labels, values, stage = [], [], [], ""
    asked = replace(options, year_from=None, year_to=None)
    for start in range(0, len(task), BATCH):
        block: Sequence[Query] = task.queries[start : start + BATCH]
        found = first.retrieve(block, options)
        stages = second.with_confidence(block, found, second.scores(block, found, options), asked)
        rows = found.top.rows
        [stage] = stages.orders.values()
        indptr = task.relevant.indptr[start : start + len(block) + 1]
        entries = task.relevant.indices[indptr[0] : indptr[-1]]
        labels.append(relevance_labels(Ranking(rows, stages.last), indptr - indptr[0], entries))
        scores.append(np.where(rows == NO_ROW, -np.inf, stages.last))
        unknown = np.full(rows.shape, np.nan)
        values.append(unknown if stages.confidence is None else stages.confidence)
        advance(len(block))
    width = max(map(np.shape, scores), key=lambda shape: shape[1])[1]
    joined = [
        np.concatenate([_wide(part, width, fill) for part in parts])
        for parts, fill in ((scores, -np.inf), (labels, False), (values, np.nan))
    ]
    return ScoredQueries(joined[0], joined[1], task.papers), joined[2], stage


def _wide(part: NDArray[Any], width: int, fill: Any) -> NDArray[Any]:
    """A block's matrix with as many columns as the widest has."""
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=fill)


def _errors(data: ScoredQueries, values: NDArray[np.float64], controls: NDArray[np.float64]) -> Table:
    """Calibration errors and Brier scores by rank, of the probabilities and of the rank alone."""
    rows = []
    for first, last in RANKS:
        chosen = data.pairs(last) & ~data.pairs(first - 1)
        if not chosen.any():
            continue
        hits = data.relevant[chosen]
        ours, rank = values[chosen], controls[chosen]
        label = f"{first} to {last}" if last > first else str(first)
        rows.append(
            [
                label,
                int(chosen.sum()),
                float(hits.mean()),
                float(ours.mean()),
                calibration_error(ours, hits),
                calibration_error(ours, hits, by="width"),
                brier_score(ours, hits),
                calibration_error(rank, hits),
                brier_score(rank, hits),
            ]
        )
    columns = ["ranks", "papers", "cited", "probability", "ECE", "ECE, equal width", "Brier"]
    return Table("calibration", [*columns, "ECE, rank alone", "Brier, rank alone"], rows)


def _points_table(points: Sequence[Reliability]) -> Table:
    rows: list[list[Any]] = [
        [str(number), point.predicted, point.observed, point.count] for number, point in enumerate(points, 1)
    ]
    return Table(
        "reliability",
        ["bin", "probability", "cited", "papers"],
        rows,
        f"Bins of equally many papers, of the best {SHOWN} of each query.",
    )


def _notes(data: ScoredQueries, values: NDArray[np.float64]) -> Table:
    """For each threshold: which lists would be noted with "nothing here fits", and what they hold."""
    shown = data.pairs(SHOWN)
    best = np.where(shown, values, 0).max(axis=1)
    good: NDArray[np.bool_] = np.any(data.relevant & data.pairs(GOOD), axis=1)
    any_: NDArray[np.bool_] = np.any(data.relevant & shown, axis=1)
    rows: list[list[Any]] = []
    for threshold in THRESHOLDS:
        noted: NDArray[np.bool_] = np.asarray(best < threshold)
        rows.append(
            [
                f"{threshold:g}",
                float(noted.mean()),
                float(good[noted].mean()) if noted.any() else 0.0,
                float(any_[noted].mean()) if noted.any() else 0.0,
                float((noted & good).sum() / max(good.sum(), 1)),
                float(good[~noted].mean()) if (~noted).any() else 0.0,
            ]
        )
    return Table(
        "nothing here fits",
        [
            "threshold",
            "lists below",
            f"of these, cited in the best {GOOD}",
            f"of these, cited in the best {SHOWN}",
            f"of all lists with one cited in the best {GOOD}, below",
            f"of the others, cited in the best {GOOD}",
        ],
        rows,
    )


@styled
def draw(by_width: Sequence[Reliability], by_mass: Sequence[Reliability], title: str) -> str:
    """The reliability diagram as an SVG element: how often papers of a probability are cited, and how many there are.

    Args:
        by_width: bins of equal width, drawn as circles, with the numbers of papers below.
        by_mass: bins of equally many papers, drawn as crosses.
        title: of the picture.

    Example:
        >>> svg = draw([Reliability(0.1, 0.2, 10)], [Reliability(0.1, 0.2, 10)], "test")
        >>> svg.startswith("<svg"), "probability" in svg
        (True, True)
    """
    drawing, (top, below) = new_figure(5.2, 5.6, nrows=2, sharex=True, gridspec_kw={"height_ratios": (4, 1)})
    top.plot((0, 1), (0, 1), color=FAINT, linestyle=(0, (4, 3)), linewidth=1, label="perfectly calibrated")
    for points, marker, colour, label in (
        (by_width, "o", HIGH, "bins of equal width"),
        (by_mass, "x", BEST, "bins of equally many papers"),
    ):
        x, y = [point.predicted for point in points], [point.observed for point in points]
        top.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=1.2, label=label)
    top.set(ylabel="share that is cited", ylim=(0, 1), xlim=(0, 1), title=title)
    top.legend(loc="upper left", frameon=False)
    below.bar(
        [point.predicted for point in by_width], [point.count for point in by_width], width=0.03, color=HIGH
    )
    below.set(xlabel="probability", ylabel="papers", yscale="log")
    return to_svg(drawing, f"Reliability diagram, {title}")

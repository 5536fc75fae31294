"""MP-BERT4CR's tables for any corpus: Table 3's column, Table 4, and recall by how often pairs were co-cited before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cocite.atomic_files import replace_files
from cocite.corpus.history import History
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest
from cocite.evaluation import experiment, tasks
from cocite.evaluation.cocitation_report import CocitationTables
from cocite.evaluation.hits import Hits
from cocite.evaluation.report import Report, Table
from cocite.evaluation.tasks import EvalTask
from cocite.progress_bars import ProgressBars, no_bars
from cocite.systems.baselines.train import BaselineSettings
from cocite_jobs.tables.baseline_readings import Choice, choose_readings, manuscript_settings
from cocite_jobs.tables.cocitation_systems import (
    ALL_BASELINES,
    CocitationSystems,
    MeasuredSystem,
    ModelFolder,
)

PLAIN_LOSS = "triplet"
"""The variant that the others of Table 4 are tested against by default."""


def cocitation_tables(
    corpus: Corpus,
    models: Sequence[ModelFolder],
    *,
    names: Sequence[str] | None = None,
    baselines: Sequence[str] = ALL_BASELINES,
    split: str = "test",
    with_dev: bool = False,
    sample: int | None = None,
    seed: int = 0,
    saved: Path | None = None,
    cache: Path = Path("cocite-baselines"),
    settings: BaselineSettings | None = None,
    reads: Choice = "better",
    base: str | None = None,
    to: Path | None = None,
    k: int = 100,
    bars: ProgressBars = no_bars,
) -> Report:
    """Measure model folders and baselines as MP-BERT4CR does.

    Args:
        corpus: papers and contexts.
        models: model folders; each system of each is a row.
        names: systems: encoders, or any other of :data:`cocite.evaluation.systems.SYSTEMS`. By default the encoder
            ``mp-bert4cr`` where a folder has it, else all its encoders.
        baselines: some of :data:`~cocite_jobs.tables.cocitation_systems.ALL_BASELINES`, names of encoders on the
            Hugging Face hub, or their folders.
        split: the queries are the contexts of its papers: ``dev`` or ``test``.
        with_dev: whether the dev papers' contexts are known to baselines, indexes and co-citation counts when test is
            measured; otherwise the training period's alone.
        sample: number of queries; all by default.
        seed: of the query sample.
        saved: an index folder of the corpus, whose vectors and word statistics are reused.
        cache: folder of trained baselines and encoded papers.
        settings: of the trained baselines. The sentences that they read of manuscripts are those of MP-BERT4CR in the
            model folders, unless the settings name others.
        reads: what baselines read of a query: its context, the sentences that MP-BERT4CR reads too, or for each the
            better of both on as many contexts of dev papers.
        base: label of the model folder that Table 4 tests the others against; by default :data:`PLAIN_LOSS`, where
            there is one.
        to: folder for ``qrels.trec`` and a run for each system.
        k: depth of the rankings, at least 10.
        bars: of each step.

    Raises:
        InputError: there is nothing to measure, or a model folder, its label or a baseline is not there.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> cocitation_tables(starter_corpus(), [], baselines=[])
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: there is nothing to measure (give --model or --baselines)
    """
    if split == "train":
        raise InputError("baselines are trained on it", where="--split", hint="dev or test")
    if k < 10:
        raise InputError("the metrics look at the first 10", where="--k")
    history = known_history(corpus, split, with_dev=with_dev)
    settings = settings or BaselineSettings()
    if "manuscript" not in settings.model_fields_set:
        settings = settings.model_copy(update={"manuscript": manuscript_settings(models)})
    systems = CocitationSystems(corpus, history, saved, cache, settings, bars)
    of_models = systems.of_folders(models, names)
    of_baselines = systems.baselines(baselines)
    if not of_models and not of_baselines:
        raise InputError("there is nothing to measure", hint="give --model or --baselines")
    labels = [system.label for system in of_models]
    if base is not None and base not in labels:
        raise InputError(f"no model folder is labelled {base!r}", where="--base", hint=nearest(base, labels))
    readings = choose_readings(systems, of_baselines, reads, sample=sample, seed=seed)
    of_baselines = [system.reading(readings.reads(system.name)) for system in of_baselines]
    task = tasks.local(corpus, split, sample=sample, seed=seed)
    with replace_files(to) as folder:
        if folder is not None:
            experiment.write_task_qrels(task, folder / "qrels.trec")
        runner = _Runner(task, folder, k, bars)
        baseline_hits = {system.name: runner.hits(system) for system in of_baselines}
        model_hits = {system.name: runner.hits(system) for system in of_models}
    made = CocitationTables(baseline_hits, model_hits, history)
    tables = [
        *readings.tables,
        made.table3(),
        *_table4(of_models, made, base or PLAIN_LOSS),
        made.slices(),
        runner.times(),
    ]
    facts = {
        "corpus": str(corpus.path),
        "corpus_version": corpus.version,
        "split": split,
        "queries": len(task),
        "sample": sample or "all",
        "seed": seed,
        "known_until": str(history.year),
        "baselines_read": readings.why,
    }
    if systems.unreachable:
        facts["left_out"] = ", ".join(systems.unreachable)
    return Report("Co-citation", facts, tables)


def known_history(corpus: Corpus, split: str, *, with_dev: bool) -> History:
    """The links that baselines and counts may use: of the training period, or of all papers before the split.

    Args:
        corpus: papers and their splits.
        split: whose queries are measured.
        with_dev: use the dev papers' links too when test is measured.
    """
    has_dev = bool((corpus.split == SPLITS.index("dev")).any())
    return tasks.history_before(corpus, split if with_dev or not has_dev else "dev")


class _Runner:
    """Ranks the task's queries with one system after the other."""

    def __init__(self, task: EvalTask, to: Path | None, k: int, bars: ProgressBars) -> None:
        self.task, self.to, self.k, self.bars = task, to, k, bars
        self._times: list[list[Any]] = []

    def hits(self, system: MeasuredSystem) -> Hits:
        """Ranks of the relevant papers in a system's rankings; writes its run."""
        rank = system.open()
        name = re.sub(r"[^\w.-]+", "-", system.name).strip("-")
        path = self.to / f"{name}.trec" if self.to is not None else None
        with self.bars(f"ranking: {system.name}", len(self.task)) as advance:
            result = experiment.run(self.task, rank, k=self.k, to=path, tag=name, advance=advance)
        self._times.append([system.name, result.milliseconds, result.empty])
        return result.hits

    def times(self) -> Table:
        """Time of each system: a query's share of its batch."""
        return Table("time", ["system", "ms per query", "queries without candidates"], self._times)


def _table4(systems: Sequence[MeasuredSystem], made: CocitationTables, base: str) -> list[Table]:
    """Table 4, where two folders or more have the same system."""
    kinds = [system.kind for system in systems]
    variants = [system for system in systems if kinds.count(system.kind) > 1]
    if not variants:
        return []
    plain = next((system.name for system in variants if system.label == base), None)
    return [made.table4([system.name for system in variants], plain)]

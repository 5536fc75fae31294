"""MP-BERT4CR's tables for any corpus: Table 3's column, Table 4, and recall by how often pairs were co-cited before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cocite.atomic_files import replace_files
from cocite.corpus.history import History
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError, nearest
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.baselines import Bm25Baseline, lexical_index
from cocite.evaluation.cocitation_report import CocitationTables
from cocite.evaluation.experiment import Rank
from cocite.evaluation.hits import Hits
from cocite.evaluation.report import Report, Table
from cocite.evaluation.tasks import EvalTask
from cocite.pipeline import components as members
from cocite.protocols import Encoder
from cocite.retrieval.engines.vectors import VectorIndex
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.baselines.cached_vectors import EncoderBaseline, kept_vectors
from cocite.systems.baselines.pooled_transformer import HUB, pooled_encoder
from cocite.systems.baselines.train import NAMES, BaselineSettings, TrainedBaselines

ALL = ("bm25", *NAMES, *HUB)
"""What ``--baselines all`` is: encoders that cannot be reached are left out and told of."""
DEFAULT = "mp-bert4cr"
"""The encoder of a model folder that is measured where nothing else is said."""
PLAIN_LOSS = "triplet"
"""The variant that the others of Table 4 are tested against."""

Bar = Callable[[str, int | None], Any]


@dataclass(frozen=True)
class Model:
    """A model folder and what its rows are called."""

    folder: Path
    label: str = ""

    @classmethod
    def parse(cls, text: str) -> Model:
        """From ``FOLDER`` or ``FOLDER=LABEL``."""
        folder, equals, label = text.rpartition("=")
        if not equals or Path(text).is_dir():
            return cls(Path(text))
        return cls(Path(folder), label)


def named(text: str) -> tuple[str, ...]:
    """The baselines that a comma-separated list names; ``all`` and ``none`` are what they say."""
    if text in ("all", "none"):
        return ALL if text == "all" else ()
    return tuple(part.strip() for part in text.split(",") if part.strip())


def cocitation_tables(
    corpus: Corpus,
    models: Sequence[Model],
    *,
    names: Sequence[str] | None = None,
    baselines: Sequence[str] = ALL,
    split: str = "test",
    with_dev: bool = False,
    sample: int | None = None,
    seed: int = 0,
    saved: Path | None = None,
    cache: Path = Path("cocite-baselines"),
    settings: BaselineSettings | None = None,
    to: Path | None = None,
    k: int = 100,
    bar: Bar | None = None,
) -> Report:
    """Measure model folders and baselines as MP-BERT4CR does.

    Args:
        corpus: papers and contexts.
        models: model folders; each system of each is a row.
        names: systems: encoders, or any other of :data:`cocite.evaluation.systems.SYSTEMS`. By default the encoder
            :data:`DEFAULT` where a folder has it, else all its encoders.
        baselines: some of :data:`ALL`, names of encoders on the Hugging Face hub, or their folders.
        split: whose papers ask, ``dev`` or ``test``.
        with_dev: whether the dev papers' contexts are known to baselines, indexes and co-citation counts when test is
            measured; otherwise the training period's alone.
        sample: so many of the queries.
        seed: draws the sample.
        saved: an index folder of the corpus, taken for systems of several stages.
        cache: keeps trained baselines and encoded papers.
        settings: of the trained baselines.
        to: folder for ``qrels.trec`` and a run for each system.
        k: depth of the rankings, at least 10.
        bar: makes a progress bar from a description and a total.
    """
    if split == "train":
        raise InputError("baselines are trained on it", where="--split", hint="dev or test")
    if k < 10:
        raise InputError("the metrics look at the first 10", where="--k")
    progress = bar or (lambda *_: nullcontext(lambda _=1: None))
    rows = _Rows(corpus, history(corpus, split, with_dev=with_dev), saved, cache, settings, progress)
    wanted = rows.of_models(models, names)
    tried = rows.of_baselines(baselines)
    if not wanted and not tried:
        raise InputError("there is nothing to measure", hint="give --model or --baselines")
    task = tasks.local(corpus, split, sample=sample, seed=seed)
    with replace_files(to) as folder:
        if folder is not None:
            experiment.write_task_qrels(task, folder / "qrels.trec")
        found = _Measured(task, folder, k, progress)
        base = {row.name: found.hits(row) for row in tried}
        mine = {row.name: found.hits(row) for row in wanted}
    made = CocitationTables(base, mine, rows.history)
    tables = [made.table3(), *_variants(wanted, made), made.slices(), found.times()]
    facts = {
        "corpus": str(corpus.path),
        "corpus_version": corpus.version,
        "split": split,
        "queries": len(task),
        "sample": sample or "all",
        "seed": seed,
        "known_until": str(rows.history.year),
    }
    if rows.unreached:
        facts["left_out"] = ", ".join(rows.unreached)
    return Report("Co-citation", facts, tables)


def history(corpus: Corpus, split: str, *, with_dev: bool) -> History:
    """What baselines and counts may know: the training period, or all that came before the split."""
    has_dev = bool((corpus.split == SPLITS.index("dev")).any())
    return tasks.history_before(corpus, split if with_dev or not has_dev else "dev")


@dataclass(frozen=True)
class Row:
    """A system to be measured.

    Attributes:
        name: what it is called in tables.
        system: what kind it is: rows of several folders of one kind are variants of a model.
        label: of its folder.
        open: makes it ready.
    """

    name: str
    system: str
    label: str
    open: Callable[[], Rank]


class _Rows:
    """Makes systems ready, one after the other."""

    def __init__(
        self,
        corpus: Corpus,
        known: History,
        saved: Path | None,
        cache: Path,
        settings: BaselineSettings | None,
        bar: Bar,
    ) -> None:
        self.corpus, self.history, self.cache, self.bar = corpus, known, cache, bar
        self.saved = IndexSnapshot.open(saved) if saved is not None else None
        self.trained = TrainedBaselines(known, cache, settings, bar=bar)
        self.unreached: list[str] = []

    # -- baselines -------------------------------------------------------------------------------------------

    def of_baselines(self, names: Sequence[str]) -> list[Row]:
        """The baselines asked for. Of ``ALL``, encoders that cannot be reached are left out."""
        rows = []
        for name in dict.fromkeys(names):
            if name == "bm25":
                rows.append(Row("BM25 (context+title)", name, "", self._bm25))
            elif name in NAMES:
                rows.append(Row(NAMES[name], name, "", self._trained(name)))
            else:
                rows += self._pooled(name, needed=tuple(names) != ALL)
        return rows

    def _trained(self, name: str) -> Callable[[], Rank]:
        return lambda: self.trained.open(name).search

    def _pooled(self, name: str, *, needed: bool) -> list[Row]:
        known = [*ALL, "none", "all"]
        if "/" not in name and name not in HUB and not Path(name).is_dir():
            raise InputError(
                f"no baseline is called {name!r}, and there is no such folder",
                where="--baselines",
                hint=nearest(name, known),
            )
        try:
            encoder = pooled_encoder(name)
        except NotFoundError:
            if needed:
                raise
            self.unreached.append(f"{HUB[name]} (not reached)")
            return []
        return [Row(encoder.name, name, "", lambda: self._dense(encoder).search)]

    def _bm25(self) -> Rank:
        return Bm25Baseline(self.index if self.saved is not None else self._words).search

    @cached_property
    def _words(self) -> Index:
        with self.bar("indexing words", None):
            return lexical_index(self.corpus)

    # -- models ----------------------------------------------------------------------------------------------

    def of_models(self, models: Sequence[Model], names: Sequence[str] | None) -> list[Row]:
        """A row for each system of each model folder."""
        rows: list[Row] = []
        for model in models:
            parts = members.check(model.folder)
            encoders = [name for name in parts if name in members.ENCODERS]
            chosen = names or ([DEFAULT] if DEFAULT in encoders else encoders)
            for name in chosen:
                self._check(model, name, encoders)
            for name in chosen:
                label = model.label or (model.folder.resolve().name if len(models) > 1 else "")
                title = f"{label}: {name}" if label and len(chosen) > 1 else label or name
                rows.append(Row(title, name, label, self._opener(model.folder, name, encoders)))
        doubled = {row.name for row in rows if [r.name for r in rows].count(row.name) > 1}
        if doubled:
            raise InputError(
                f"two rows are called {sorted(doubled)[0]!r}",
                where="--model",
                hint="label them: FOLDER=LABEL",
            )
        return rows

    def _check(self, model: Model, name: str, encoders: list[str]) -> None:
        if name in members.ENCODERS:
            if name not in encoders:
                raise InputError(f"holds no {name}", where=str(model.folder), hint="train it, or --train")
        else:
            systems.select(model.folder, [name], where="--systems")

    def _opener(self, folder: Path, name: str, encoders: list[str]) -> Callable[[], Rank]:
        if name in encoders:
            return lambda: self._dense(_loaded(folder, name)).search
        return lambda: systems.open_system(name, folder, self._with_vectors(folder, name))

    def _vectors(self, encoder: Encoder) -> Any:
        if self.saved is not None and self.saved.encoder_ids.get(encoder.name) == encoder.id:
            return self.saved.vectors[encoder.name].raw
        with self.bar(f"encoding: {encoder.name}", len(self.corpus)) as advance:
            return kept_vectors(encoder, self.corpus, self.cache, advance=advance)

    def _dense(self, encoder: Encoder) -> EncoderBaseline:
        return EncoderBaseline(encoder.name, encoder, self.corpus, self._vectors(encoder))

    @cached_property
    def index(self) -> Index:
        """Words, contexts and links as known, without a vector that a model folder has not asked for."""
        with self.bar("indexing", None) as advance:
            return index_of(self.corpus, self.history, saved=self.saved, advance=advance)

    def _with_vectors(self, folder: Path, name: str) -> Index:
        encoders = systems.encoders_for(folder, [name])
        return replace(
            self.index,
            vectors={e.name: VectorIndex.build(self._vectors(e)) for e in encoders},
            encoder_ids={e.name: e.id for e in encoders},
        )


class _Measured:
    """Runs systems on the task's queries."""

    def __init__(self, task: EvalTask, to: Path | None, k: int, bar: Bar) -> None:
        self.task, self.to, self.k, self.bar = task, to, k, bar
        self._times: list[list[Any]] = []

    def hits(self, row: Row) -> Hits:
        """What a system found."""
        rank = row.open()
        name = re.sub(r"[^\w.-]+", "-", row.name).strip("-")
        path = self.to / f"{name}.trec" if self.to is not None else None
        with self.bar(f"ranking: {row.name}", len(self.task)) as advance:
            outcome = experiment.run(self.task, rank, k=self.k, to=path, tag=name, advance=advance)
        self._times.append([row.name, outcome.milliseconds, outcome.empty])
        return outcome.hits

    def times(self) -> Table:
        """A query's share of its batch."""
        return Table("time", ["system", "ms per query", "queries without candidates"], self._times)


def _loaded(folder: Path, name: str) -> Encoder:
    encoder = members.load_encoder(folder, name)
    if encoder is None:
        raise InputError(f"holds no {name}", where=str(folder))
    return encoder


def _variants(rows: Sequence[Row], made: CocitationTables) -> list[Table]:
    """Table 4, where two folders or more have the same system."""
    kinds = [row.system for row in rows]
    alike = [row for row in rows if kinds.count(row.system) > 1]
    if not alike:
        return []
    plain = next((row.name for row in alike if row.label == PLAIN_LOSS), None)
    return [made.table4([row.name for row in alike], plain)]

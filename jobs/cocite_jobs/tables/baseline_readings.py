"""What each baseline reads of a query: its context, or what MP-BERT4CR reads, whichever finds more on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from cocite.corpus.records import SPLITS
from cocite.evaluation import experiment, tasks
from cocite.evaluation.cocitation import METRICS
from cocite.evaluation.metrics import means
from cocite.evaluation.report import Table
from cocite.manifests import read_json
from cocite.systems.baselines.manuscripts import ManuscriptSettings
from cocite.systems.baselines.train import Reads
from cocite.systems.mp_bert4cr.encoder import CONFIG, KIND, MpBert4crConfig
from cocite_jobs.tables.cocitation_systems import CocitationSystems, MeasuredSystem, ModelFolder
from cocite_jobs.tables.cocitation_variants import FINETUNING
from cocite_jobs.training.recipes import load_recipe

READINGS: tuple[Reads, ...] = get_args(Reads)
Choice = Literal["context", "manuscript", "better"]
"""``better``: for each baseline the one of :data:`READINGS` that finds more on dev."""
DEV = "dev"
"""The split whose contexts choose: the split that is measured never does."""


@dataclass(frozen=True)
class BaselineReadings:
    """What baselines read, and how that was chosen.

    Attributes:
        chosen: name of each system -> what it reads.
        why: how that was chosen, for the report.
        tables: the measurements on dev that chose; none where a reading was given.

    Example:
        >>> BaselineReadings({"Word2Vec": "context"}, why="context, as given").reads("Word2Vec")
        'context'
    """

    chosen: Mapping[str, Reads]
    why: str
    tables: Sequence[Table] = ()

    def reads(self, name: str) -> Reads:
        """What the system of a name reads."""
        return self.chosen[name]


def choose_readings(
    made: CocitationSystems,
    baselines: Sequence[MeasuredSystem],
    reads: Choice,
    *,
    sample: int | None = None,
    seed: int = 0,
) -> BaselineReadings:
    """Measure both readings of each baseline on contexts of the dev papers, and take the better by R@10.

    Those that are measured there know the training period alone, whatever ``made`` knows.

    Args:
        made: where the baselines are from.
        baselines: the systems whose reading is chosen.
        reads: what they read; ``better``: what is better for each.
        sample: number of dev contexts; all by default.
        seed: of that sample.
    """
    corpus = made.corpus
    if reads != "better" or not baselines:
        reading: Reads = "manuscript" if reads == "manuscript" else "context"
        return BaselineReadings({system.name: reading for system in baselines}, why=f"{reading}, as given")
    of_dev = corpus.split == SPLITS.index(DEV)
    asks = of_dev[corpus.context_citing] & (corpus.context_cited.degrees > 0)
    if not asks.any():
        why = "context, as there are no dev contexts to choose by"
        return BaselineReadings({system.name: "context" for system in baselines}, why=why)
    before = made.knowing(tasks.history_before(corpus, DEV))
    systems = baselines if before is made else before.baselines([system.kind for system in baselines])
    task = tasks.local(corpus, DEV, sample=sample, seed=seed)
    chosen: dict[str, Reads] = {}
    rows = []
    for system in systems:
        found: dict[Reads, dict[str, float]] = {}
        for reading in READINGS:
            rank = system.reading(reading).open()  # may train, with a bar of its own
            with made.bars(f"ranking dev: {system.reading(reading).name}", len(task)) as advance:
                result = experiment.run(task, rank, k=10, advance=advance)
            found[reading] = means(result.hits, METRICS)
        # Of equals the first: who gains nothing reads the context, as in the paper.
        best = max(READINGS, key=lambda reading: found[reading][METRICS[0]])
        chosen[system.name] = best
        rows.append(
            [system.name, *(found[reading][metric] for reading in READINGS for metric in METRICS), best]
        )
    columns = ["system", *(f"{metric} {reading}" for reading in READINGS for metric in METRICS), "reads"]
    note = (
        f"{len(task):,} contexts of dev papers, which the baselines do not know. manuscript: the context, and the "
        f"sentences that MP-BERT4CR reads of the manuscript. reads: the better by {METRICS[0]}, measured below."
    )
    why = f"the better of two on {len(task):,} dev contexts"
    return BaselineReadings(chosen, why, [Table("readings", columns, rows, note)])


def manuscript_settings(models: Sequence[ModelFolder]) -> ManuscriptSettings:
    """The sentences that MP-BERT4CR reads: of the first model folder that has one, else of its small recipe.

    Example:
        >>> manuscript_settings([]).contexts.manuscript_abstract
        4
    """
    for model in models:
        for path in (model.folder / KIND / CONFIG, model.folder / CONFIG):
            if path.is_file():
                config = MpBert4crConfig.parse(read_json(path), where=str(path))
                return ManuscriptSettings(contexts=config.contexts, title=config.title)
    recipe = load_recipe(FINETUNING)
    return ManuscriptSettings(contexts=recipe.contexts, title=recipe.texts.title)  # type: ignore[attr-defined]

"""The plan of MP-BERT4CR (Zhang and Ma, 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cocite.evaluation.report import Report, Table
from cocite.systems.baselines.pooled_transformer import HUB
from cocite.systems.baselines.train import MP_BERT4CR, BaselineSettings
from cocite.systems.mp_bert4cr.recipe import NONE
from cocite_jobs.reproduction.baseline_changes import baseline_changes, baseline_options, baseline_settings
from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.mp_bert4cr_controls import control_exhibits, control_trainings
from cocite_jobs.reproduction.plan import Exhibit, Plan, Setup, Size, Training
from cocite_jobs.reproduction.recipe_settings import changed_recipe
from cocite_jobs.reproduction.rerankers import further_folders
from cocite_jobs.reproduction.training_step import overrides_of, recipe_training
from cocite_jobs.tables.baseline_readings import Choice
from cocite_jobs.tables.cocitation import cocitation_tables
from cocite_jobs.tables.cocitation_systems import ModelFolder
from cocite_jobs.tables.cocitation_variants import (
    CONTROL_VARIANTS,
    FINETUNING,
    FOLDER,
    VARIANTS,
    train_variants,
)
from cocite_jobs.training.recipes import load_recipe

KIND = "mp-bert4cr"
PRETRAINING = "mp-bert4cr-pretraining"
TINY = (
    *("texts.vocabulary=400", "texts.sentence_tokens=24", "dev_contexts=20"),
    *("model.sentence_tokens=24", "model.hidden=24", "model.heads=2", "model.inner=48"),
    *("training.precision=fp32", "training.batch=24", "training.steps=2", "training.checkpoint_every=1"),
)
RECIPES: Mapping[Size, tuple[str, tuple[str, ...], str]] = {
    "toy": (FINETUNING, TINY, NONE),
    "small": (FINETUNING, (), NONE),
    "paper": (KIND, (), PRETRAINING),
}
"""Size -> the recipe of fine-tuning, what is changed in it, and the recipe of pretraining."""
SAMPLES: Mapping[Size, int | None] = {"toy": 20, "small": 4000, "paper": None}
"""Size -> test contexts that are queries; None: all."""
BASELINES: Mapping[Size, tuple[str, ...]] = {
    "toy": ("bm25", "w2v", "d2v", "hd2v"),
    "small": ("bm25", *MP_BERT4CR),
    "paper": ("bm25", *MP_BERT4CR),
}
READS: Mapping[Size, Choice] = {"toy": "better", "small": "better", "paper": "context"}
"""Size -> what baselines read of a query; in the paper the local context (section 5.3)."""
FINE_TUNED = "bi-encoder"
"""An encoder that was named, fine-tuned on the corpus' citations: the artifact in a model folder of its own."""
TINY_BI_ENCODER = (
    *("texts.max_tokens=32", "texts.dev_queries=20", "dev_candidates=50", "training.precision=fp32"),
    *("training.batch=16", "training.steps=2", "training.checkpoint_every=1"),
)
BASELINE_CHANGES: Mapping[Size, Sequence[str]] = {
    "toy": (
        *("w2v.dimension=8", "w2v.epochs=1", "d2v.dimension=8", "d2v.epochs=1"),
        *("hd2v.epochs=1", "hd2v.batch=64", "hd2v.noise=50"),
    ),
    "small": (),
    # The paper takes gensim's defaults; of Doc2Vec's the passes are those of gensim 4. It ranks by cosines.
    "paper": (
        *("w2v.architecture=cbow", "w2v.window=5", "w2v.min_count=5", "d2v.min_count=5"),
        *("w2v.cosine=true", "hd2v.cosine=true", "dacr.cosine=true"),
    ),
}
"""Size -> what is changed in the baselines' settings."""
IMPOSSIBLE = {
    "Figures 1 to 3": "They are drawings of the system, and docs/papers.md names the file of each part.",
    "Table 2": "It has settings and no results: the recipes mp-bert4cr and mp-bert4cr-pretraining have them.",
    "SciBERT and Specter in Table 3": (
        "Their weights do not come with cocite: --encoder, which may be repeated, adds encoders by name or folder, as "
        "they are and fine-tuned."
    ),
}
ROWS = {**VARIANTS, **CONTROL_VARIANTS}
"""The paper's variants, then words only and no co-cited positives, which the paper does not have."""
NAMES_OF_PAPER = {
    "Word2Vec": "W2V",
    "Doc2Vec": "D2V",
    "HyperDoc2Vec": "HD2V",
    "DACR": "DACR",
    f"{HUB['scibert']} fine-tuned": "SciBERT",
    f"{HUB['specter']} fine-tuned": "Specter",
}
"""Our names of baselines -> the paper's, which fine-tunes its encoders."""


def plan(setup: Setup) -> Plan:
    """The trainings and exhibits of MP-BERT4CR on a corpus."""
    _, _, pretraining = RECIPES[setup.size]
    trainings = [] if pretraining == NONE else [recipe_training("pretraining", pretraining, weight=5)]
    trainings += [_variant(name) for name in ROWS]
    trainings += _fine_tunings(setup)
    needs = tuple(training.name for training in trainings)
    measured = _Measured()
    why_not = "" if len(setup.corpus.contexts) else "The corpus has no citation contexts."
    exhibits = [
        corpus_exhibit(setup, "mp-bert4cr"),
        Exhibit(
            "table3",
            "Table 3: recall and MAP of ten by the number of positives",
            lambda setup: measured.table(setup, "Table 3"),
            _command(setup),
            needs,
            names=_names(),
        ),
        Exhibit(
            "table4",
            "Table 4: objectives",
            lambda setup: measured.table(setup, "Table 4"),
            _command(setup),
            needs,
            measured_with="table3",
        ),
        *control_exhibits(setup, setup.sample_of(SAMPLES), _cache(setup)),
    ]
    citation = (
        "Zhang, Ma: Recommending Multiple Positive Citations for Manuscript via Content-Dependent Modeling and "
        "Multi-Positive Triplet. WI-IAT 2021."
    )
    every = tuple(replace(exhibit, why_not=why_not) for exhibit in exhibits)
    return Plan("mp-bert4cr", citation, (*trainings, *control_trainings(setup)), every, IMPOSSIBLE, _settings)


def _names() -> dict[str, str]:
    """Our names of baselines -> the paper's, whatever a baseline reads of a manuscript."""
    wide = {f"{name} + manuscript": theirs for name, theirs in NAMES_OF_PAPER.items()}
    return {**NAMES_OF_PAPER, **wide}


def _variant(name: str) -> Training:
    def train(setup: Setup, minutes: float | None) -> None:
        recipe, overrides = _changed(setup, KIND, minutes)
        pretraining, before = _changed(setup, PRETRAINING, minutes)
        train_variants(
            setup.corpus,
            setup.model,
            pretraining=pretraining,
            pretraining_overrides=before,
            recipe=recipe,
            overrides=overrides,
            only=[name],
            options=setup.launch,
            bars=setup.bars,
        )

    def load(setup: Setup) -> object:
        recipe, overrides = _changed(setup, KIND, None)
        return load_recipe(recipe, [*overrides, *ROWS[name]])

    return Training(name, (f"model/{FOLDER}/{name}/{KIND}",), train, kind=KIND, load=load)


def _fine_tuned(setup: Setup) -> dict[str, Path]:
    """Each encoder that is named -> the model folder in which it is fine-tuned; the first one's is the main one."""
    return dict.fromkeys(setup.encoders[:1], setup.model) | further_folders(setup)


def _fine_tunings(setup: Setup) -> list[Training]:
    changes = TINY_BI_ENCODER if setup.size == "toy" else ()
    return [
        recipe_training(
            FINE_TUNED if folder == setup.model else f"{FINE_TUNED} of {encoder}",
            "bi-encoder",
            changes,
            own=[f"encoder={encoder}"],
            to=str(folder.relative_to(setup.folder)),
        )
        for encoder, folder in _fine_tuned(setup).items()
    ]


def _changed(setup: Setup, kind: str, minutes: float | None) -> tuple[str, list[str]]:
    """The recipe of fine-tuning or of pretraining, with its overrides."""
    finetuning, changes, pretraining = RECIPES[setup.size]
    recipe, changes = (finetuning, changes) if kind == KIND else (pretraining, ())
    if recipe == NONE:
        return NONE, []
    recipe, more = changed_recipe(setup.settings, kind, recipe)
    return recipe, overrides_of(setup, recipe, [*changes, *more], minutes)


class _Measured:
    """The report that both tables are of, measured once a call."""

    report: Report | None = None

    def table(self, setup: Setup, title: str) -> Table:
        is_new = self.report is None
        self.report = self.report or _measure(setup)
        [table] = [table for table in self.report.tables if table.title.startswith(title)]
        # Its seconds are next to none then.
        return (
            table if is_new else replace(table, note=f"{table.note} Measured with the table before.".strip())
        )


def _measure(setup: Setup) -> Report:
    folders = [ModelFolder(setup.model / FOLDER / name, name) for name in ROWS]
    return cocitation_tables(
        setup.corpus,
        folders,
        baselines=_baselines(setup),
        sample=setup.sample_of(SAMPLES),
        seed=setup.query_seed,
        cache=_cache(setup),
        settings=_settings(setup),
        reads=READS[setup.size],
        bars=setup.bars,
    )


def _baselines(setup: Setup) -> tuple[str, ...]:
    """The baselines of the size, then each encoder as it is and fine-tuned, in rows that are called by its name."""
    rows = list(BASELINES[setup.size])
    for encoder, folder in _fine_tuned(setup).items():
        rows += [f"{encoder}={encoder}" if Path(encoder).is_dir() else encoder]
        rows += [f"{folder / FINE_TUNED}={encoder} fine-tuned"]
    return tuple(rows)


def _command(setup: Setup) -> str:
    line: list[Any] = ["evaluate", "cocitation"]
    for name in ROWS:
        line += ["--model", f"{setup.model / FOLDER / name}={name}"]
    line += ["--baselines", ",".join(_baselines(setup)), "--cache", _cache(setup)]
    line += ["--reads", READS[setup.size], *baseline_options(_changes(setup))]
    if (sample := setup.sample_of(SAMPLES)) is not None:
        line += ["--sample", sample]
    return setup.command(*line, "--seed", setup.query_seed)


def _changes(setup: Setup) -> list[str]:
    return baseline_changes(setup, BASELINE_CHANGES[setup.size])


def _settings(setup: Setup) -> BaselineSettings:
    return baseline_settings(_changes(setup))


def _cache(setup: Setup) -> Path:
    return setup.folder / "baselines"

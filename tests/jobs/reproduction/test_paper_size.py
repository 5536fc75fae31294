"""``cocite reproduce PAPER --size paper``, with the papers' own recipes at the dimensions of a test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.small_trunk import save_small_trunk

from cocite.corpus.store import Corpus
from cocite.manifests import read_manifest
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome, reproduce
from cocite_jobs.reproduction.training_step import run_training
from cocite_jobs.tables.cocitation_variants import CONTROL_VARIANTS, VARIANTS
from cocite_jobs.training.recipes import load_recipe

pytestmark = pytest.mark.integration


def of_kinds(kinds: Iterable[str], *settings: str) -> tuple[str, ...]:
    """Settings of several kinds of recipes."""
    return tuple(f"{kind}.{setting}" for kind in kinds for setting in settings)


FEW = ("training.steps=2", "training.precision=fp32", "workers.count=0", "workers.gpus=0")
TRIPLETS = ("model.dimension=8", "objective.triplets=256", "training.batch=64", "training.steps=2")
PAIRS = (
    *(*FEW, "pairs.query_tokens=40", "pairs.candidate_tokens=24", "training.batch=4", "training.tokens=4096"),
    *("candidates.queries=20", "candidates.dev_queries=8", "candidates.dev_depth=8"),
)
SENTENCES = (
    *(*FEW, "texts.vocabulary=400", "texts.sentence_tokens=24", "model.sentence_tokens=24"),
    *("model.sentence_layers=1", "model.document_layers=1", "model.hidden=24", "model.heads=2"),
    *("model.inner=48", "training.backend=plain", "training.zero=0", "training.evaluate_every=0"),
)
SMALL = {
    "citeomatic": of_kinds(("nnselect", "nnrank"), *TRIPLETS, "fields.min_papers_per_author=1")
    + of_kinds(("nnrank",), "model.metadata_dimension=4"),
    "nogueira": of_kinds(("cross-encoder",), *PAIRS),
    "hatten": of_kinds(("nnselect",), *TRIPLETS)
    + of_kinds(
        ("hatten",),
        *(*FEW, "words.source=random", "model.dimension=16", "model.heads=2", "model.feed_forward=16"),
        *("dev_contexts=20", "objective.depth=20", "training.batch=8", "training.evaluate_every=0"),
    )
    + of_kinds(
        ("cross-encoder",), *PAIRS, "pairs.context_tokens=16", "candidates.depth=20", "objective.negatives=5"
    )
    + of_kinds(
        ("baselines",),
        *("s2v.dimension=8", "s2v.epochs=1", "ncn.dimension=8", "ncn.channels=8", "ncn.epochs=1"),
        *("dual.hidden=8", "dual.attention=8", "dual.author_dimension=8", "dual.channels=8"),
        *("bertgcn.inner=8", "bertgcn.graph_epochs=2", "bertgcn.epochs=1", "w2v.dimension=8"),
    ),
    "mp-bert4cr": of_kinds(("mp-bert4cr", "mp-bert4cr-pretraining"), *SENTENCES)
    + of_kinds(("mp-bert4cr",), "dev_contexts=20")
    + of_kinds(("mp-bert4cr-pretraining",), "decoder_layers=1")
    + of_kinds(("baselines",), "hd2v.epochs=1", "dacr.epochs=1", "w2v.min_count=1"),
}
"""Paper -> what makes its recipes small; all else is the paper's."""
RECIPES = {
    "citeomatic": {"model/nnselect": "nnselect-paper", "model/nnrank": "nnrank-paper"},
    "nogueira": {"model/cross-encoder": "scibert-global"},
    "hatten": {
        "model/nnselect": "nnselect-paper",
        "model/hatten": "hatten-paper",
        "model/cross-encoder": "scibert-local",
    },
    "mp-bert4cr": {
        "model/mp-bert4cr-pretraining": "mp-bert4cr-pretraining",
        "model/ablations/mpt-src-tgt/mp-bert4cr": "mp-bert4cr",
    },
}
"""Paper -> artifact -> the recipe that it is trained by."""
PAPERS_OWN = {"mp-bert4cr": ["table1", "table3", "table4"]}
"""What is asked for, where a plan has more than the paper: the recipes of the rest are small at each size."""


def reproduced_at_papers_size(
    paper: str, corpus: Corpus, folder: Path, settings: Sequence[str], only: Sequence[str] | None
) -> Outcome:
    """Each table that was asked for, or all, by a small encoder where the paper has SciBERT."""
    encoder = None
    if paper in ("nogueira", "hatten"):
        texts = [text or "" for text in corpus.papers.take("abstract", np.arange(len(corpus)))]
        encoder = str(save_small_trunk(folder / "bert", texts, positions=512))
    setup = Setup(
        corpus, folder / "to", "paper", encoder=encoder, sample=5, settings=(*SMALL[paper], *settings)
    )
    outcome = reproduce(paper, setup, only=only)
    assert outcome.contents.missing == {}
    shown = outcome.contents.shown
    every = [each.id for each in outcome.contents.plan.exhibits if not each.why_not]
    assert [each.exhibit.id for each in shown] == list(only or every)
    for each in shown:
        numbers = [cell for row in each.made.table.rows for cell in row[1:] if isinstance(cell, int | float)]
        assert any(math.isfinite(number) for number in numbers), each.exhibit.id
    return outcome


def require_recipe(artifact: Path, recipe: str, paper: str) -> None:
    """Whether an artifact was trained by a recipe but for what makes it small."""
    trained = read_manifest(artifact).meta["recipe"]
    small = {text.split("=")[0].removeprefix(f"{trained['kind']}.") for text in SMALL[paper]}
    small |= {"training.seed", "training.checkpoint_minutes", "encoder", "keep"}
    assert differences(load_recipe(recipe).model_dump(mode="json"), trained) <= small


@pytest.mark.parametrize("paper", RECIPES)
def test_the_papers_recipes_are_trained_exported_and_measured(
    toy_corpus: Corpus, tmp_path: Path, paper: str
) -> None:
    reproduced_at_papers_size(paper, toy_corpus, tmp_path, (), PAPERS_OWN.get(paper))
    for artifact, recipe in RECIPES[paper].items():
        require_recipe(tmp_path / "to" / artifact, recipe, paper)


def test_a_pretraining_of_another_budget_is_what_all_variants_begin_with(
    toy_corpus: Corpus, tmp_path: Path
) -> None:
    setup = Setup(toy_corpus, tmp_path / "to", "paper", sample=5, settings=SMALL["mp-bert4cr"])
    reproduce("mp-bert4cr", setup, only=["table1"])
    [pretraining, *_] = plan_of("mp-bert4cr", setup).trainings
    run_training(pretraining, setup, 7.0)
    pretrained = read_manifest(setup.model / "mp-bert4cr-pretraining")
    outcome = reproduce("mp-bert4cr", setup, only=["table3", "table4"], budget=3600)
    assert outcome.contents.missing == {}
    assert outcome.trained == [*VARIANTS, *CONTROL_VARIANTS]
    for row in outcome.trained:
        folder = setup.model / "ablations" / row
        assert read_manifest(folder / "mp-bert4cr-pretraining").digest == pretrained.digest
        minutes = read_manifest(folder / "mp-bert4cr").meta["recipe"]["training"]["minutes"]
        assert 0 < minutes < 60, "its own part of the budget"
        assert minutes != pretrained.meta["recipe"]["training"]["minutes"]


@pytest.mark.parametrize("table", ["pubmed", "opencorpus"])
def test_citeomatics_recipes_of_its_other_corpora_are_measured_too(
    toy_corpus: Corpus, tmp_path: Path, table: str
) -> None:
    recipes = {kind: f"{kind}-paper-{table}" for kind in ("nnselect", "nnrank")}
    settings = [f"{kind}={recipe}" for kind, recipe in recipes.items()]
    reproduced_at_papers_size("citeomatic", toy_corpus, tmp_path, settings, ["table4"])
    for kind, recipe in recipes.items():
        require_recipe(tmp_path / "to/model" / kind, recipe, "citeomatic")


def differences(one: dict[str, object], other: dict[str, object], prefix: str = "") -> set[str]:
    """The dotted keys of the values in which two recipes differ."""
    found: set[str] = set()
    for key in {*one, *other}:
        first, second = one.get(key), other.get(key)
        if isinstance(first, dict) and isinstance(second, dict):
            found |= differences(first, second, f"{prefix}{key}.")
        elif first != second:
            found.add(f"{prefix}{key}")
    return found

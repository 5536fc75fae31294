"""Trains the classifier of sentences that need a citation, and writes ``citing-sentences`` into a model folder."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.citing_sentences.classifier import KIND
from cocite.systems.citing_sentences.examples import CitingExamples, read_examples
from cocite.systems.citing_sentences.features import vectors
from cocite.systems.citing_sentences.recipe import CitingSentencesRecipe
from cocite.systems.citing_sentences.task import best_threshold, measure, sample_negatives, train_classifier
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact


def train_citing_sentences(
    recipe: CitingSentencesRecipe, corpus: Corpus, to: Path, progress: ProgressCallback
) -> TrainedArtifact:
    """Train on the train split, choose the threshold on dev, and measure on dev and test.

    Only papers of train reach the weights. Where there is no test split, nothing is measured on it. What the recipe
    leaves out, or takes in, is measured on test as well, by a threshold of its own.

    Args:
        recipe: what is read, of how many papers, and how the weights are fitted.
        corpus: with body sentences.
        to: the model folder.
        progress: called while it trains.

    Raises:
        InputError: the corpus holds no body sentences, or a split has none of which some cite and some do not.
    """
    began = time.monotonic()

    def examples(split: str, most: int) -> CitingExamples:
        progress.stage(f"sentences of {split}", most)
        return read_examples(corpus, split, most, seed=recipe.seed, advance=progress.advance)

    read = {"train": examples("train", recipe.train), "dev": examples("dev", recipe.held_out)}
    try:
        read["test"] = examples("test", recipe.held_out)
    except InputError as error:
        absent = error.message
    else:
        absent = ""
    made, cites, complete = {}, {}, {}
    for split, found in read.items():
        progress.stage(f"vectors of {split}", 0)
        usual = np.flatnonzero(found.complete | recipe.incomplete)
        sample = usual[sample_negatives(found.cites[usual], recipe.negatives, recipe.seed)]
        kept = np.union1d(sample, np.flatnonzero(~found.complete))
        made[split] = vectors(found.papers, recipe.features, recipe.width)[kept]
        cites[split], complete[split] = found.cites[kept], found.complete[kept]
    counted = {split: of | recipe.incomplete for split, of in complete.items()}
    progress.stage("weights", 0)
    classifier = train_classifier(made["train"][counted["train"]], cites["train"][counted["train"]], recipe)
    scores = {split: classifier.of_vectors(made[split]) for split in made if split != "train"}
    threshold = best_threshold(scores["dev"][counted["dev"]], cites["dev"][counted["dev"]])
    classifier = replace(classifier, settings=classifier.settings.model_copy(update={"threshold": threshold}))
    metrics = measure(scores["dev"][counted["dev"]], cites["dev"][counted["dev"]], threshold)
    details: dict[str, object] = {
        f"{split} sentences": f"{rows.sum():,}, {cites[split][rows].mean():.1%} cite"
        for split, rows in counted.items()
    }
    if "test" in made:
        measured = measure(scores["test"][counted["test"]], cites["test"][counted["test"]], threshold)
        details |= {f"test {name}": round(value, 4) for name, value in measured.items()}
        # Saying yes to all sentences has the share of positives for its precision.
        share = float(np.mean(cites["test"][counted["test"]]))
        details["test F1 of always yes"] = round(2 * share / (1 + share), 4)
        others = {
            split: rows if recipe.incomplete else np.ones_like(rows) for split, rows in complete.items()
        }
        at = best_threshold(scores["dev"][others["dev"]], cites["dev"][others["dev"]])
        measured = measure(scores["test"][others["test"]], cites["test"][others["test"]], at)
        which = "complete sentences alone" if recipe.incomplete else "incomplete sentences too"
        details |= {f"{which}: test {name}": round(value, 4) for name, value in measured.items()}
    else:
        details["test left out"] = absent
    meta = {
        "recipe": recipe.model_dump(mode="json"),
        "corpus": corpus.version,
        "dev": metrics,
        "details": details,
    }
    classifier.save(to / KIND, meta)
    progress.log(metrics, 0)
    details |= {"threshold": round(threshold, 4), "seconds": time.monotonic() - began}
    return TrainedArtifact(to / KIND, metrics, details)

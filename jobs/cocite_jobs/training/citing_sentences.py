"""Trains the classifier of sentences that need a citation, and writes ``citing-sentences`` into a model folder."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.systems.citing_sentences.classifier import KIND, CitingSentenceClassifier
from cocite.systems.citing_sentences.examples import CitingExamples, read_examples
from cocite.systems.citing_sentences.features import vectors
from cocite.systems.citing_sentences.recipe import CitingSentencesRecipe
from cocite.systems.citing_sentences.task import best_threshold, measure, sample_negatives, train_classifier
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.types import TrainedArtifact

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class _Sample:
    """Sentences of a split: their vectors, (S, width), and (S,) whether each cites, and whether it is complete."""

    vectors: csr_matrix
    cites: NDArray[np.bool_]
    complete: NDArray[np.bool_]

    def only_complete(self) -> _Sample:
        """Those that read as sentences without their citations."""
        rows = self.complete
        return _Sample(self.vectors[rows], self.cites[rows], self.complete[rows])


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
    splits = {}
    for split, found in read.items():
        progress.stage(f"vectors of {split}", 0)
        splits[split] = _sampled(found, recipe)
    progress.stage("weights", 0)
    counted = {split: of if recipe.incomplete else of.only_complete() for split, of in splits.items()}
    classifier = train_classifier(counted["train"].vectors, counted["train"].cites, recipe)
    threshold = best_threshold(classifier.of_vectors(counted["dev"].vectors), counted["dev"].cites)
    classifier = replace(classifier, settings=classifier.settings.model_copy(update={"threshold": threshold}))
    metrics = _measure(classifier, counted["dev"], threshold)
    details: dict[str, object] = {
        f"{split} sentences": f"{len(of.cites):,}, {of.cites.mean():.1%} cite"
        for split, of in counted.items()
    }
    if "test" in splits:
        measured = _measure(classifier, counted["test"], threshold)
        details |= {f"test {name}": round(value, 4) for name, value in measured.items()}
        # Saying yes to all sentences has the share of positives for its precision.
        share = float(counted["test"].cites.mean())
        details["test F1 of always yes"] = round(2 * share / (1 + share), 4)
        dev, test = (
            splits[split].only_complete() if recipe.incomplete else splits[split] for split in ("dev", "test")
        )
        measured = _measure(classifier, test, best_threshold(classifier.of_vectors(dev.vectors), dev.cites))
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


def _sampled(found: CitingExamples, recipe: CitingSentencesRecipe) -> _Sample:
    """The sentences that the recipe counts, as many negatives as it asks for, and all incomplete ones."""
    cites, complete = found.cites, found.complete
    usual = np.flatnonzero(complete | recipe.incomplete)
    sample = usual[sample_negatives(cites[usual], recipe.negatives, recipe.seed)]
    kept = np.union1d(sample, np.flatnonzero(~complete))
    return _Sample(vectors(found.papers, recipe.features, recipe.width)[kept], cites[kept], complete[kept])


def _measure(classifier: CitingSentenceClassifier, sample: _Sample, threshold: float) -> dict[str, float]:
    return measure(classifier.of_vectors(sample.vectors), sample.cites, threshold)

"""MP-BERT4CR's training examples: citations in their contexts, each with positives and negatives, as documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.sampling.draws import Draws
from cocite.sampling.noise import NegativeSampler
from cocite.systems.mp_bert4cr.citations import Citations
from cocite.systems.mp_bert4cr.cocitations import CocitationSampler
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.task import Examples


@dataclass(frozen=True)
class Sample:
    """b examples with the papers that were drawn for them.

    Attributes:
        contexts: (b,) positions in the corpus.
        targets: (b,) the cited paper of each example.
        positives: (b, n) papers cited together with the target, padded with ``NO_ROW``.
        negatives: (b, m) papers, ``NO_ROW`` where there is none.
        papers: (c,) all of these, distinct, ascending.

    Example:
        >>> sample = Sample(np.array([17]), np.array([4], np.int32), np.array([[9, NO_ROW]], np.int32),
        ...                 np.array([[2, 30]], np.int32), papers=np.array([2, 4, 9, 30], np.int32))
        >>> np.searchsorted(sample.papers, sample.negatives)  # where the negatives are among the papers
        array([[0, 3]])
    """

    contexts: NDArray[np.int64]
    targets: NDArray[np.int32]
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]
    papers: NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """A piece of a step as the model reads it.

    Attributes:
        manuscripts: b documents, one an example.
        papers: c documents, those of ``sample.papers``.
        sample: what was drawn.
        layers: whether documents go through the model's layers.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr import citations, sentence_texts
        >>> recipe = MpBert4crRecipe.parse({"texts": {"vocabulary": 400, "period": {"train_until": 2010}}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0, sentences=True), Path(folder, "corpus"))
        ...     _ = sentence_texts.prepare(recipe.texts, corpus, Path(folder, "sentence-texts"))
        ...     _ = citations.prepare(recipe.citations, corpus, Path(folder, "citations"))
        ...     texts = sentence_texts.load_from_model_folder(Path(folder), corpus)
        ...     found = citations.load(Path(folder), corpus, recipe.citations)
        ...     examples = CitationExamples(recipe, corpus, found, texts)
        >>> batch = examples.batch(np.arange(4), epoch=0)
        >>> len(batch.manuscripts), len(batch.papers) == len(batch.sample.papers)
        (4, True)
    """

    manuscripts: Documents
    papers: Documents
    sample: Sample
    layers: bool = True


class CitationExamples:
    """The training period's citations in contexts, numbered: a context that cites three papers is three examples.

    Args:
        recipe: settings.
        corpus: the papers.
        citations: of the training period.
        texts: of the corpus.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr import citations, sentence_texts
        >>> recipe = MpBert4crRecipe.parse({"texts": {"vocabulary": 400, "period": {"train_until": 2010}}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0, sentences=True), Path(folder, "corpus"))
        ...     _ = sentence_texts.prepare(recipe.texts, corpus, Path(folder, "sentence-texts"))
        ...     _ = citations.prepare(recipe.citations, corpus, Path(folder, "citations"))
        ...     texts = sentence_texts.load_from_model_folder(Path(folder), corpus)
        ...     found = citations.load(Path(folder), corpus, recipe.citations)
        ...     examples = CitationExamples(recipe, corpus, found, texts)
        >>> sample = examples.sample(np.arange(len(examples)), epoch=0)
        >>> sample.negatives.shape == (len(examples), recipe.negatives.count)
        True
    """

    def __init__(
        self, recipe: MpBert4crRecipe, corpus: Corpus, citations: Citations, texts: SentenceTexts
    ) -> None:
        links = citations.links
        self.recipe, self.texts, self.citations = recipe, texts, citations
        positives = recipe.positives
        self.positives = CocitationSampler(
            links, citations.cocitations, source=positives.source, single=positives.single
        )
        # All contexts here are of the training period, so what their papers cite is known.
        spared = corpus.cites if recipe.negatives.spare_manuscript else None
        self.negatives = NegativeSampler(links, citations.noise, spared)
        self.documents = DynamicContext(recipe.contexts, texts)

    def __len__(self) -> int:
        return len(self.citations)

    def sample(self, examples: Examples, epoch: int) -> Sample:
        """Some examples with their papers: a function of seed, epoch and their numbers."""
        recipe = self.recipe
        contexts, targets = self.citations.contexts[examples], self.citations.targets[examples]
        draws = Draws(recipe.training.seed, epoch, examples)
        positives = self.positives.draw(contexts, targets, recipe.drawn_positives, draws)
        negatives = self.negatives.draw(contexts, recipe.negatives.count, draws, positives)
        papers = np.unique(np.concatenate([targets, positives.ravel(), negatives.ravel()]))
        return Sample(contexts, targets, positives, negatives, papers[papers != NO_ROW])

    def weights(self, papers: NDArray[np.int32]) -> NDArray[np.float32]:
        """(c,) the weight of each paper as a shared negative; see ``negatives.correction``."""
        # One more than they are, so that no paper's is 0.
        mean = (len(self.texts) + len(self)) / len(self.texts)
        often = (1 + self.citations.often[papers]) / mean
        return np.asarray(often**-self.recipe.negatives.correction, np.float32)

    def batch(self, examples: Examples, epoch: int) -> Batch:
        """Some examples as documents.

        The sentences read of a paper are the same throughout an epoch, whichever example draws it, so that a step
        embeds it once.
        """
        sample, seed = self.sample(examples, epoch), self.recipe.training.seed
        manuscripts = self.documents.contexts(sample.contexts, Draws(seed, epoch, examples))
        papers = self.documents.papers(sample.papers, Draws(seed, epoch, sample.papers.astype(np.int64)))
        return Batch(manuscripts, papers, sample, epoch >= self.recipe.bag_epochs)

"""What MP-BERT4CR is trained on: citations in their contexts, each with positives and negatives, as documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.protocols import NO_ROW
from cocite.sampling.draws import Draws
from cocite.sampling.noise import CitationSampler
from cocite.systems.mp_bert4cr.cocitations import CocitationSampler
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.task import Examples
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods


@dataclass(frozen=True)
class Drawn:
    """Some examples.

    Attributes:
        contexts: (b,) positions in the corpus.
        targets: (b,) the paper that each is to find.
        positives: (b, n) papers cited together with the target, padded with ``NO_ROW``.
        negatives: (b, m) papers, ``NO_ROW`` where there is none.
        papers: (c,) all of these, distinct, ascending.
    """

    contexts: NDArray[np.int64]
    targets: NDArray[np.int32]
    positives: NDArray[np.int32]
    negatives: NDArray[np.int32]
    papers: NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """A piece of a step.

    Attributes:
        manuscripts: b documents, one an example.
        papers: c documents, those of ``drawn.papers``.
        drawn: the examples.
        layers: whether they go through the model's layers.
    """

    manuscripts: Documents
    papers: Documents
    drawn: Drawn
    layers: bool = True


class Citations:
    """The training period's citations in contexts, numbered.

    Args:
        recipe: settings.
        periods: what is known.
        texts: of the corpus.
    """

    def __init__(self, recipe: MpBert4crRecipe, periods: Periods, texts: SentenceTexts) -> None:
        self.recipe, self.texts = recipe, texts
        positives = recipe.positives
        self.gaps = Gaps.known(periods.history)
        self.owner, self.cited = self.gaps.cited.pairs()
        self.cocitations = CocitationSampler(
            periods.history, positives.power, source=positives.source, single=positives.single
        )
        self.citations = CitationSampler(periods.history, recipe.negatives.power)
        self.documents = DynamicContext(recipe.contexts, texts)

    def __len__(self) -> int:
        return len(self.cited)

    def draw(self, examples: Examples, epoch: int) -> Drawn:
        """Some examples with their papers: a function of seed, epoch and their numbers."""
        recipe = self.recipe
        contexts, targets = self.gaps.positions[self.owner[examples]], self.cited[examples]
        draws = Draws(recipe.training.seed, epoch, examples)
        positives = self.cocitations.draw(contexts, targets, recipe.drawn, draws)
        negatives = self.citations.draw(contexts, recipe.negatives.count, draws, positives)
        papers = np.unique(np.concatenate([targets, positives.ravel(), negatives.ravel()]))
        return Drawn(contexts, targets, positives, negatives, papers[papers != NO_ROW])

    def weights(self, papers: NDArray[np.int32]) -> NDArray[np.float32]:
        """(c,) how many times papers count as negatives that all share; see ``negatives.correction``."""
        often = 1 + np.bincount(self.cited, minlength=len(self.texts))
        return np.asarray((often[papers] / often.mean()) ** -self.recipe.negatives.correction, np.float32)

    def batch(self, examples: Examples, epoch: int) -> Batch:
        """Some examples as documents. What is read of a paper is the same throughout an epoch, whoever draws it."""
        drawn, seed = self.draw(examples, epoch), self.recipe.training.seed
        manuscripts = self.documents.contexts(drawn.contexts, Draws(seed, epoch, examples))
        papers = self.documents.papers(drawn.papers, Draws(seed, epoch, drawn.papers.astype(np.int64)))
        return Batch(manuscripts, papers, drawn, epoch >= self.recipe.bag_epochs)

    def lengths(self) -> NDArray[np.int64]:
        """(n,) about how many tokens an example has: its manuscript, its target, and as many papers as it may draw."""
        papers = self.documents.paper_tokens()
        manuscripts = self.documents.context_tokens()[self.gaps.positions[self.owner]]
        further = (self.recipe.drawn + self.recipe.negatives.count) * papers.mean()
        return np.asarray(manuscripts + papers[self.cited] + further).astype(np.int64)

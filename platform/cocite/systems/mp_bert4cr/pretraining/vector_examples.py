"""Examples of the sentence level's pretraining: documents as fine-tuning reads them, with some sentences hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.text.documents import Documents
from cocite.training.engine.task import Examples

HIDDEN = 100
"""Stream of random numbers that hide sentences: another than those that draw them."""


@dataclass(frozen=True)
class HiddenVectors:
    """Documents, and the sentences that are hidden.

    Attributes:
        documents: with the vectors of all their sentences, the hidden ones too.
        hidden: (M,) numbers of the hidden sentences, ascending.

    Example:
        >>> documents = Documents(torch.tensor([4, 2, 7, 2]), torch.tensor([0, 2, 4]), torch.tensor([0, 2]),
        ...                       torch.zeros(2, 8))
        >>> HiddenVectors(documents, torch.tensor([1])).owners  # the document of each hidden sentence
        tensor([0])
    """

    documents: Documents
    hidden: Tensor

    @property
    def owners(self) -> Tensor:
        """(M,) the document of each hidden sentence."""
        return torch.searchsorted(self.documents.documents, self.hidden, right=True) - 1


class VectorExamples:
    """Papers and citation contexts, numbered, papers first.

    Args:
        context: assembles documents.
        papers: (p,) rows.
        contexts: (c,) positions in the store.
        share: of a document's sentences that are hidden; at least one is.
        seed: of all draws.

    Example:
        >>> from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
        >>> from cocite.text.sentence_texts import SentenceReader, SentenceTexts
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> reader = SentenceReader(train_wordpiece(lambda: ["a b c d e f g h"] * 2, 300), most=8)
        >>> heads, bodies = reader.abstracts(["a"], ["b c"]), reader.bodies([[]])
        >>> texts = SentenceTexts(reader.tokenizer, *heads, *bodies, np.arange(0))
        >>> context = DynamicContext(DynamicContextSettings(body=0), texts)
        >>> examples = VectorExamples(context, np.array([0]), np.array([], np.int64), share=0.15, seed=0)
        >>> len(examples), len(examples.batch(np.array([0]), epoch=0).hidden)
        (1, 1)
    """

    def __init__(
        self,
        context: DynamicContext,
        papers: NDArray[np.integer],
        contexts: NDArray[np.int64],
        *,
        share: float,
        seed: int,
    ) -> None:
        self.context, self.share, self.seed = context, share, seed
        self.papers, self.contexts = np.asarray(papers, np.int64), contexts

    def __len__(self) -> int:
        return len(self.papers) + len(self.contexts)

    def lengths(self) -> NDArray[np.int64]:
        """(n,) expected tokens of each example."""
        papers = self.context.paper_tokens()[self.papers]
        if not len(self.contexts):
            return papers.astype(np.int64)
        return np.concatenate([papers, self.context.context_tokens()[self.contexts]]).astype(np.int64)

    def batch(self, examples: Examples, epoch: int) -> HiddenVectors:
        """Some examples: a function of seed, epoch and their numbers. Papers come before contexts."""
        of_papers = examples < len(self.papers)
        papers, contexts = examples[of_papers], examples[~of_papers]
        parts = [
            self.context.papers(self.papers[papers], Draws(self.seed, epoch, papers)),
            self.context.contexts(
                self.contexts[contexts - len(self.papers)], Draws(self.seed, epoch, contexts)
            ),
        ]
        documents = Documents.joined([part for part in parts if len(part)])
        counts = documents.document_lengths.numpy()
        owner = np.repeat(np.arange(len(counts)), counts)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = np.concatenate([papers, contexts])
        which = Draws(self.seed, epoch, numbers).of(HIDDEN).at(owner, position)
        least = np.full(len(counts), np.inf)
        np.minimum.at(least, owner, which)
        hidden = np.flatnonzero((which < self.share) | (which == least[owner]))
        return HiddenVectors(documents, torch.from_numpy(hidden))

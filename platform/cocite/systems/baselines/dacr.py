"""DACR as a baseline (Zhang and Ma 2020, "Dual Attention Model for Citation Recommendation").

Taken from the paper's abstract: three inputs, the words of the local context, the structural contexts (what else the
manuscript cites) and the section that is being written; self-attention relates words and structural contexts,
additive attention weighs them; the result is to be near the vector of the cited paper. From MP-BERT4CR (section 5.3):
citations are ranked by their output vectors.

Not known from the texts at hand, and so choices of this implementation: one layer of self-attention with as many heads
as ``heads``; a section's vector is added to each word and structural context; training tells the cited paper from
noise and begins with PV-DM's vectors, both as in HyperDoc2Vec; sections are
:data:`cocite.systems.baselines.sections.KINDS`.
At a query the manuscript's other citations are not given, for they are what is judged: so structural contexts are left
out of half of the training examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from cocite.bounds import (
    BatchSize,
    Epochs,
    Heads,
    LearningRate,
    PositiveFactor,
    PositiveSmallCount,
    Power,
    SmallCount,
    TextLength,
)
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.systems.baselines.citing_pairs import CitingPairs, noise_loss, same_paper, table
from cocite.systems.baselines.sections import KINDS, query_sections, section_kinds
from cocite.systems.baselines.texts import CitingTexts, nearest_words, only_words
from cocite.systems.baselines.vectors import VectorBaseline, read_contexts
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import Paragraphs

WITHOUT = 0.5
"""Share of the training examples without structural contexts."""


class DacrSettings(Settings):
    """The network, and how it is trained."""

    heads: Heads = 4
    """Heads of the self-attention."""
    words: TextLength = 40
    """Words read of a context, those in its middle."""
    structural: SmallCount = 5
    """Other citations read of a manuscript, drawn anew each time."""
    start: PositiveFactor = 0.1
    """Mean length that vectors begin with: as long as PV-DM leaves them, they hardly learn."""
    epochs: Epochs = 3
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 256
    """Pairs of a step."""
    negatives: PositiveSmallCount = 5
    """Papers that each pair is told from (gensim's default)."""
    noise: int = Field(1000, ge=1, le=1_000_000)
    """Papers drawn for a batch: all its pairs are told from them, each as from ``negatives`` of them."""
    power: Power = 0.75
    """Of the number of contexts that cite a paper, in the noise."""
    learning_rate: LearningRate = 0.01
    """Adam's."""


@dataclass(frozen=True)
class Inputs:
    """A batch: what the attention reads, padded with -1.

    Attributes:
        words: (b, w) word numbers.
        papers: (b, s) rows of structural contexts.
        sections: (b,) kinds of sections.
    """

    words: Tensor
    papers: Tensor
    sections: Tensor


class Dacr(nn.Module):
    """Words, structural contexts and section to a vector.

    Args:
        words: (W, d) vectors to begin with.
        papers: (N, d) the same.
        heads: of the self-attention; they divide d.
        length: mean length that these vectors are brought to; None: as they are.
    """

    def __init__(
        self,
        words: NDArray[np.float32],
        papers: NDArray[np.float32],
        heads: int,
        *,
        length: float | None = None,
    ) -> None:
        super().__init__()
        width = words.shape[1]
        self.words = table(words, length)
        self.citing = table(papers, length)
        self.cited = table(papers, length)
        self.sections = nn.Embedding(len(KINDS), width)
        self.related = nn.MultiheadAttention(width, heads, batch_first=True)
        self.keys = nn.Linear(width, width)
        self.weights = nn.Linear(width, 1, bias=False)
        # At first the self-attention adds nothing, a section is none, and the additive attention is the mean.
        for weight in (self.sections.weight, self.related.out_proj.weight, self.weights.weight):
            nn.init.zeros_(weight)

    def tables(self) -> list[Tensor]:
        """The vectors of which a batch touches few."""
        return [self.words.weight, self.citing.weight, self.cited.weight]

    def forward(self, inputs: Inputs) -> Tensor:
        """(b, d); zero for an input without word and structural context."""
        ids = torch.cat([inputs.words, inputs.papers], dim=1)
        real = ids >= 0  # (b, w + s)
        read = torch.cat(
            [self.words(inputs.words.clamp(min=0)), self.citing(inputs.papers.clamp(min=0))], dim=1
        )
        read = read + self.sections(inputs.sections)[:, None]  # (b, w + s, d)
        # A row of nothing would divide by zero: it attends to its padding, and is dropped behind.
        some = real.any(1, keepdim=True)
        padding = ~(real | ~some)
        related = read + self.related(read, read, read, key_padding_mask=padding, need_weights=False)[0]
        scores = self.weights(torch.tanh(self.keys(related))).squeeze(2)
        share = scores.masked_fill(padding, -torch.inf).softmax(1)
        return torch.einsum("bt,btd->bd", share, related) * some


def train_dacr(
    texts: CitingTexts,
    start: tuple[NDArray[np.float32], NDArray[np.float32]],
    settings: DacrSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> Dacr:
    """Train on the citing pairs of a history.

    Args:
        texts: the contexts.
        start: vectors of words (W, d) and papers (N, d) to begin with.
        settings: how.
        seed: of weights, order, noise and what is left out.
        advance: told how many pairs are done.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Dacr(*start, settings.heads, length=settings.start)
    corpus, history = texts.history.corpus, texts.history
    headings = corpus.contexts.table.column("section").take(history.contexts).combine_chunks()
    contexts, sections = nearest_words(only_words(texts.contexts), settings.words), section_kinds(headings)
    pairs = CitingPairs(texts, noise=settings.noise, power=settings.power, seed=seed)
    tables = model.tables()
    known = {id(table) for table in tables}
    rest = [weight for weight in model.parameters() if id(weight) not in known]
    optimizers = [
        torch.optim.SparseAdam(tables, lr=settings.learning_rate),
        torch.optim.Adam(rest, lr=settings.learning_rate),
    ]
    model.train()
    for _ in range(settings.epochs):
        for context, target, noise in pairs.batches(settings.batch):
            papers = _structural(texts, context, settings.structural, pairs.rng)
            queries = model(_inputs(contexts.take(context), papers, sections[context]))
            loss = noise_loss(
                queries,
                model.cited(torch.from_numpy(target)),
                model.cited(torch.from_numpy(noise)),
                same_paper(target, noise),
                settings.negatives,
            )
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in optimizers:
                optimizer.step()
            advance(len(context))
    return model.eval()


class DacrBaseline(VectorBaseline):
    """The network's vector of a context against the citations' output vectors.

    Args:
        corpus: tells the section of a query's sentence.
        reader: numbers words.
        model: trained.
        words: read of a context.
    """

    def __init__(self, name: str, corpus: Corpus, reader: ParagraphReader, model: Dacr, words: int) -> None:
        super().__init__(name, model.cited.weight.detach().numpy(), cosine=False)
        self.corpus, self.reader, self.model, self.words = corpus, reader, model, words

    @torch.inference_mode()
    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d); zero for a context of unknown words."""
        read = nearest_words(read_contexts(self.reader, queries), self.words)
        papers = np.empty((len(queries), 0), np.int64)
        vectors: NDArray[np.float32] = self.model(
            _inputs(read, papers, query_sections(self.corpus, queries))
        ).numpy()
        return vectors


def _inputs(read: Paragraphs, papers: NDArray[np.int64], sections: NDArray[np.int64]) -> Inputs:
    every = np.arange(len(read))
    words = read.rectangle(every).astype(np.int64)
    words[np.arange(words.shape[1]) >= read.lengths[:, None]] = NO_ROW
    if not words.shape[1]:
        words = np.full((len(read), 1), NO_ROW, np.int64)
    return Inputs(torch.from_numpy(words), torch.from_numpy(papers), torch.from_numpy(sections))


def _structural(
    texts: CitingTexts, context: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(b, count) papers that a context's paper cites elsewhere, drawn evenly; none for ``WITHOUT`` of the contexts."""
    cites = texts.history.cites
    citing = texts.citing[context]
    degrees = cites.degrees[citing].astype(np.int64)[:, None]
    drawn = np.floor(rng.random((len(context), count)) * degrees).astype(np.int64)
    place = np.asarray(cites.indptr)[citing][:, None] + np.minimum(drawn, np.maximum(degrees - 1, 0))
    rows = np.full((len(context), count), NO_ROW, np.int64)
    has = np.broadcast_to((degrees > 0) & (rng.random((len(context), 1)) >= WITHOUT), rows.shape)
    rows[has] = cites.indices[place[has]]
    here = texts.cited.contains(context[:, None], rows)
    return np.where(here, NO_ROW, rows)

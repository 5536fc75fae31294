"""DACR as a baseline (Zhang and Ma 2020, "Dual Attention Model for Citation Recommendation").

From the paper's abstract: the network has three inputs, the words of the local context, the structural contexts (what
else the manuscript cites) and the section of the gap; self-attention relates words and structural contexts, additive
attention weighs them, and the result is trained towards the vector of the cited paper. From MP-BERT4CR (section 5.3):
citations are ranked by their output vectors.

Neither text gives the rest, which is the choice of this implementation: one layer of self-attention with ``heads``
heads; a section's vector is added to each word and structural context; training discriminates the cited paper from
noise and begins with PV-DM's vectors, both as in HyperDoc2Vec; sections are
:data:`cocite.systems.baselines.sections.KINDS`. Queries come without the manuscript's other citations, because those
are what an evaluation judges; therefore half of the training examples have no structural contexts.
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
from cocite.systems.baselines.citing_pairs import CitingPairs, TableOptimizers, noise_loss, same_paper, table
from cocite.systems.baselines.manuscripts import Manuscripts
from cocite.systems.baselines.sections import KINDS, query_sections, section_kinds
from cocite.systems.baselines.texts import CitingTexts, nearest_words, only_words
from cocite.systems.baselines.vectors import VectorBaseline, read_contexts, with_manuscripts
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import Paragraphs

WITHOUT = 0.5
"""Share of the training examples without structural contexts."""


class DacrSettings(Settings):
    """The network, and how it is trained.

    Example:
        >>> DacrSettings(heads=2, structural=0).words
        40
    """

    heads: Heads = 4
    """Heads of the self-attention."""
    words: TextLength = 40
    """Words read of a context, those in its middle."""
    structural: SmallCount = 5
    """Other citations read of a manuscript, drawn for each batch."""
    start: PositiveFactor = 0.1
    """Mean length that initial vectors are scaled to: at the length of PV-DM's, gradients are too small."""
    epochs: Epochs = 3
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 256
    """Pairs of a step."""
    negatives: PositiveSmallCount = 5
    """Noise papers for each pair (gensim's default)."""
    noise: int = Field(1000, ge=1, le=1_000_000)
    """Noise papers drawn for a batch: all its pairs share them, each with the weight of ``negatives`` of them."""
    power: Power = 0.75
    """Exponent of the number of contexts that cite a paper, in the draw of noise."""
    learning_rate: LearningRate = 0.01
    """Learning rate of Adam."""
    cosine: bool = False
    """Whether papers are ranked by the cosine (MP-BERT4CR, section 5.3) and not by the inner product. It changes no
    vector."""


@dataclass(frozen=True)
class Inputs:
    """A batch of the network's inputs, padded with -1.

    Attributes:
        words: (b, w) word numbers.
        papers: (b, s) rows of structural contexts.
        sections: (b,) kinds of sections.

    Example:
        >>> words, papers = torch.tensor([[4, 7, -1]]), torch.empty((1, 0), dtype=torch.int64)
        >>> Inputs(words, papers, sections=torch.tensor([2])).words.shape
        torch.Size([1, 3])
    """

    words: Tensor
    papers: Tensor
    sections: Tensor


class Dacr(nn.Module):
    """Maps words, structural contexts and section to a vector.

    Args:
        words: (W, d) initial vectors of words.
        papers: (N, d) initial vectors of papers, citing and cited.
        heads: of the self-attention; they divide d.
        length: mean length that these vectors are scaled to; None: they are not scaled.

    Example:
        >>> network = Dacr(np.eye(8, 4, dtype=np.float32), np.eye(3, 4, dtype=np.float32), heads=2)
        >>> none = torch.empty((1, 0), dtype=torch.int64)
        >>> query = network(Inputs(torch.tensor([[0, 1]]), none, torch.tensor([0])))
        >>> query.tolist()  # untrained: the mean of the words' vectors
        [[0.5, 0.5, 0.0, 0.0]]
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
        # Before training the self-attention and the section add 0, and the additive attention is the mean.
        for weight in (self.sections.weight, self.related.out_proj.weight, self.weights.weight):
            nn.init.zeros_(weight)

    def tables(self) -> list[Tensor]:
        """The embeddings with sparse gradients: a batch uses few of their rows."""
        return [self.words.weight, self.citing.weight, self.cited.weight]

    def forward(self, inputs: Inputs) -> Tensor:
        """(b, d); zero for an input without word and structural context."""
        ids = torch.cat([inputs.words, inputs.papers], dim=1)
        real = ids >= 0  # (b, w + s)
        read = torch.cat(
            [self.words(inputs.words.clamp(min=0)), self.citing(inputs.papers.clamp(min=0))], dim=1
        )
        read = read + self.sections(inputs.sections)[:, None]  # (b, w + s, d)
        # A row of padding alone attends to its padding, as a softmax over nothing is NaN; it is set to 0 below.
        filled = real.any(1, keepdim=True)
        padding = ~(real | ~filled)
        related = read + self.related(read, read, read, key_padding_mask=padding, need_weights=False)[0]
        scores = self.weights(torch.tanh(self.keys(related))).squeeze(2)
        share = scores.masked_fill(padding, -torch.inf).softmax(1)
        return torch.einsum("bt,btd->bd", share, related) * filled


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
        start: initial vectors of words (W, d) and papers (N, d).
        settings: of network and training.
        seed: of weights, order, noise and the examples without structural contexts.
        advance: called with the number of pairs of each step.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Dacr(*start, settings.heads, length=settings.start)
    corpus, history = texts.history.corpus, texts.history
    headings = corpus.contexts.taken("section", history.contexts).combine_chunks()
    contexts, sections = nearest_words(only_words(texts.contexts), settings.words), section_kinds(headings)
    pairs = CitingPairs(texts, noise=settings.noise, power=settings.power, seed=seed)
    optimizers = TableOptimizers(model, model.tables(), settings.learning_rate)
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
            optimizers.step(loss)
            advance(len(context))
    return model.eval()


class DacrBaseline(VectorBaseline):
    """Ranks papers by the similarity of their output vectors to the network's vector of a context.

    Args:
        name: of the system, for tables.
        corpus: has the sections of the queries' sentences.
        reader: numbers words.
        model: the trained network.
        words: most words read of a context.
        cosine: see :class:`VectorBaseline`.
        manuscripts: what else is read of a manuscript; None: nothing.

    Example:
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> from cocite.text.vocabulary import Vocabulary
        >>> reader = ParagraphReader(ParagraphSettings(), Vocabulary(["parsing", "trees"], np.array([9, 4])))
        >>> network = Dacr(np.eye(reader.size, 4, k=-3, dtype=np.float32), np.eye(3, 4, dtype=np.float32), heads=2)
        >>> baseline = DacrBaseline("DACR", None, reader, network, words=40)
        >>> baseline.encode([Query("q", context="parsing [CIT]")]).tolist()
        [[1.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        name: str,
        corpus: Corpus,
        reader: ParagraphReader,
        model: Dacr,
        words: int,
        *,
        cosine: bool = False,
        manuscripts: Manuscripts | None = None,
    ) -> None:
        super().__init__(name, model.cited.weight.detach().numpy(), cosine=cosine)
        self.corpus, self.reader, self.model, self.words = corpus, reader, model, words
        self.manuscripts = manuscripts

    @torch.inference_mode()
    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) the network's vectors of the contexts; 0 where all words are unknown."""
        near = nearest_words(read_contexts(self.reader, queries), self.words)
        read = with_manuscripts(near, self.reader, queries, self.manuscripts)
        papers = np.empty((len(queries), 0), np.int64)
        vectors: NDArray[np.float32] = self.model(
            _inputs(read, papers, query_sections(self.corpus, queries))
        ).numpy()
        return vectors


def _inputs(contexts: Paragraphs, papers: NDArray[np.int64], sections: NDArray[np.int64]) -> Inputs:
    """The words of contexts as a rectangle of at least one column, with the other two inputs."""
    words = contexts.rectangle(np.arange(len(contexts))).astype(np.int64)
    words[np.arange(words.shape[1]) >= contexts.lengths[:, None]] = NO_ROW
    if not words.shape[1]:
        words = np.full((len(contexts), 1), NO_ROW, np.int64)
    return Inputs(torch.from_numpy(words), torch.from_numpy(papers), torch.from_numpy(sections))


def _structural(
    texts: CitingTexts, context: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(b, count) papers that a context's paper cites elsewhere, drawn evenly; none for ``WITHOUT`` of the contexts."""
    cites = texts.history.cites
    citing = texts.citing[context]
    degrees = cites.degrees[citing].astype(np.int64)[:, None]
    drawn = np.floor(rng.random((len(context), count)) * degrees).astype(np.int64)
    position = np.asarray(cites.indptr)[citing][:, None] + np.minimum(drawn, np.maximum(degrees - 1, 0))
    rows = np.full((len(context), count), NO_ROW, np.int64)
    has = np.broadcast_to((degrees > 0) & (rng.random((len(context), 1)) >= WITHOUT), rows.shape)
    rows[has] = cites.indices[position[has]]
    here = texts.cited.contains(context[:, None], rows)
    return np.where(here, NO_ROW, rows)

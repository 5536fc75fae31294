"""Sent2Vec as a baseline (Pagliardini, Gupta and Jaggi 2018): a text is the mean of its words' and bigrams' vectors.

HAtten's Table 2 has it. Each word of a sentence is predicted from the mean of all other n-grams of the sentence: CBOW
whose window is the sentence, with a vector for each bigram too. gensim has no such model: its CBOW reads no bigrams,
and would predict bigrams that were put among the words.

As in the paper: words are predicted with probability min(1, sqrt(t/f) + t/f) of their frequency f, noise words are
drawn by sqrt(f), some bigrams of each sentence are dropped, and bigrams share ``buckets`` vectors by a hash. Without
buckets words alone are read, as in HAtten's table; that is the default.

Otherwise than in the authors' program: bigrams that hold the predicted word are left out, where that puts a mark in its
place; a step is of several sentences, where that has one for each word, and its noise is shared by all words that it
predicts; stop words are left out, as of all baselines here. HAtten's authors take vectors of 600 components of
Wikipedia's words alone; these are of the training period's titles, abstracts and contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from cocite.bounds import (
    BatchSize,
    Dimension,
    Epochs,
    LearningRate,
    PositiveShare,
    PositiveSmallCount,
    SmallCount,
)
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.protocols import Query
from cocite.systems.baselines.citing_pairs import noise_loss, same_paper, table
from cocite.systems.baselines.manuscripts import Manuscripts
from cocite.systems.baselines.texts import CitingTexts, joined_pairs, mean_vectors, only_words
from cocite.systems.baselines.vectors import VectorBaseline
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import ABSTRACT, CONTEXT, Paragraphs
from cocite.text.sentences import split_sentences

MULTIPLIER = 1_000_003
"""A prime that spreads the numbers of bigrams over their buckets."""
BLOCK = 4096
"""Papers whose sentences are read at a time."""


class Sent2VecSettings(Settings):
    """How n-gram vectors are trained.

    Example:
        >>> Sent2VecSettings(dimension=700, buckets=4_000_000).negatives
        10
    """

    dimension: Dimension = 100
    """Components of a vector; 600 in HAtten's Table 2."""
    buckets: int = Field(0, ge=0, le=10_000_000)
    """Vectors that all bigrams share; 0: words alone, as in HAtten's Table 2, whose vectors of 600 components are those
    that Sent2Vec's authors publish of words."""
    dropped: SmallCount = 4
    """Bigrams dropped of each sentence, drawn anew in each pass, so that words are not predicted by bigrams alone."""
    threshold: PositiveShare = 1e-4
    """t: words more frequent than this share are predicted less often."""
    epochs: Epochs = 9
    """Passes over the sentences."""
    batch: BatchSize = 16
    """Sentences of a step, whose predictions are added up."""
    negatives: PositiveSmallCount = 10
    """Noise words for each that is predicted."""
    noise: int = Field(100, ge=1, le=1_000_000)
    """Noise words drawn for a step: all its predictions share them, each with the weight of ``negatives`` of them."""
    learning_rate: LearningRate = 0.2
    """Of plain gradient descent, at the start; it falls to 0 evenly. Adam moves the vectors of frequent words along one
    direction, which then decides every cosine."""


def bigrams(paragraphs: Paragraphs, words: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(T,) for each word the number of the bigram that it begins, ``words`` or more, and whether it begins one.

    Example:
        >>> numbers, begins = bigrams(Paragraphs(np.array([0, 2, 3]), np.array([5, 6, 5], np.int32)), 10, 1000)
        >>> begins.tolist(), bool(10 <= numbers[0] < 1010)
        ([True, False, False], True)
    """
    tokens = paragraphs.tokens.astype(np.int64)
    begins = np.ones(len(tokens), bool)
    begins[paragraphs.indptr[1:][paragraphs.lengths > 0] - 1] = False
    following = np.append(tokens[1:], 0)
    return words + (tokens * MULTIPLIER + following) % max(buckets, 1), begins & (buckets > 0)


def with_bigrams(paragraphs: Paragraphs, words: int, buckets: int) -> Paragraphs:
    """The n-grams of each paragraph: each word, and behind it the bigram that it begins.

    Example:
        >>> with_bigrams(Paragraphs(np.array([0, 2]), np.array([5, 6], np.int32)), 10, 0).tokens.tolist()
        [5, 6]
    """
    numbers, begins = bigrams(paragraphs, words, buckets)
    both = np.stack([paragraphs.tokens.astype(np.int64), numbers], axis=1)
    kept = np.stack([np.ones_like(begins), begins], axis=1)
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return Paragraphs(ends[paragraphs.indptr], both[kept].astype(np.int32))


@dataclass(frozen=True)
class Predictions:
    """The words that a step predicts, and what each is predicted from.

    Attributes:
        sentences: n-grams of each sentence, the dropped bigrams left out.
        owner: (t,) sentence of each predicted word.
        targets: (t,) their numbers.
        without: for each predicted word the n-grams that hold it: itself and its bigrams.

    Example:
        >>> sentence = Paragraphs(np.array([0, 2]), np.array([5, 6], np.int32))
        >>> rng = np.random.default_rng(0)
        >>> made = Predictions.draw(sentence, np.ones(10), Sent2VecSettings(buckets=0), rng)
        >>> made.targets.tolist(), [made.without.tokens.tolist(), made.counts.tolist()]
        ([5, 6], [[5, 6], [1, 1]])
    """

    sentences: Paragraphs
    owner: NDArray[np.int64]
    targets: NDArray[np.int64]
    without: Paragraphs

    @property
    def counts(self) -> NDArray[np.int64]:
        """(t,) n-grams that each is predicted from."""
        return self.sentences.lengths[self.owner] - self.without.lengths

    @classmethod
    def draw(
        cls,
        sentences: Paragraphs,
        share: NDArray[np.float64],
        settings: Sent2VecSettings,
        rng: np.random.Generator,
    ) -> Predictions:
        """Draw the words of some sentences that are predicted, and drop bigrams.

        Args:
            sentences: words alone.
            share: (W,) the probability of each word to be predicted.
            settings: which bigrams there are, and how many are dropped.
            rng: of both draws.
        """
        words, tokens = len(share), sentences.tokens.astype(np.int64)
        owner = np.repeat(np.arange(len(sentences)), sentences.lengths)
        numbers, begins = bigrams(sentences, words, settings.buckets)
        if settings.dropped:
            begins &= _rank_within(owner, begins, rng) >= settings.dropped
        ends_one = np.append(False, begins[:-1])  # the word before begins a bigram that this one ends
        before = np.append(0, numbers[:-1])
        # Columns: the word, the bigram that it ends, the one that it begins.
        held = np.stack([tokens, before, numbers], axis=1)
        is_held = np.stack([np.ones_like(begins), ends_one, begins], axis=1)
        own = is_held[:, [0, 2]]
        lengths = np.bincount(owner, own.sum(axis=1), minlength=len(sentences)).astype(np.int64)
        read = Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), held[:, [0, 2]][own].astype(np.int32))
        # A word is predicted from at least one other n-gram.
        chosen = (rng.random(len(tokens)) < share[tokens]) & (lengths[owner] > is_held.sum(axis=1))
        without = Paragraphs(
            np.concatenate([[0], np.cumsum(is_held[chosen].sum(axis=1))]),
            held[chosen][is_held[chosen]].astype(np.int32),
        )
        return cls(read, owner[chosen], tokens[chosen], without)

    def means(self, source: Tensor) -> Tensor:
        """(t, d) the mean of the n-grams that each word is predicted from, by their vectors (W + B, d)."""
        whole = _sums(self.sentences, source)[torch.from_numpy(self.owner)]
        return (whole - _sums(self.without, source)) / torch.from_numpy(self.counts)[:, None]


def _sums(paragraphs: Paragraphs, source: Tensor) -> Tensor:
    return functional.embedding_bag(
        torch.from_numpy(paragraphs.tokens.astype(np.int64)),
        source,
        torch.from_numpy(paragraphs.indptr[:-1].astype(np.int64)),
        mode="sum",
        sparse=True,
    )


def _rank_within(
    owner: NDArray[np.int64], among: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(T,) a random rank of each marked entry among the marked ones of its owner, from 0; 0 for the others."""
    at = np.flatnonzero(among)
    order = np.lexsort((rng.random(len(at)), owner[at]))
    ranks = np.zeros(len(owner), np.int64)
    ranks[at[order]] = np.arange(len(at)) - np.searchsorted(owner[at], owner[at])
    return ranks


def prediction_shares(counts: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """(W,) min(1, sqrt(t/f) + t/f) for the frequency f of each word; 0 for a word that does not occur.

    Example:
        >>> prediction_shares(np.array([0, 1, 99]), 0.01).round(3).tolist()
        [0.0, 1.0, 0.111]
    """
    ratio = threshold * counts.sum() / np.maximum(counts, 1)
    return np.where(counts > 0, np.minimum(1.0, np.sqrt(ratio) + ratio), 0.0)


def training_sentences(texts: CitingTexts) -> Paragraphs:
    """The words of a history's titles, of the sentences of its abstracts, and of its contexts."""
    history: History = texts.history
    parts = [only_words(texts.contexts)]
    rows = np.flatnonzero(history.citing)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        titles, abstracts = (history.corpus.papers.take(name, block) for name in ("title", "abstract"))
        split = [sentence for sentences in split_sentences(abstracts) for sentence in sentences]
        parts.append(only_words(texts.reader.read(pa.array([*titles, *split], pa.string()), ABSTRACT)))
    return Paragraphs.joined(parts)


def sent2vec(
    texts: CitingTexts,
    settings: Sent2VecSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Train vectors of n-grams (W + buckets, d), words first by the reader's numbers; those of papers (N, d) are means.

    The vector of a word or bigram that no sentence of the history has is 0.

    Args:
        texts: contexts and papers.
        settings: of the training.
        seed: of initial vectors, order, dropped bigrams and noise.
        advance: called with the number of sentences of each step.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     texts = CitingTexts.of(history, ParagraphSettings())
        ...     ngrams, papers = sent2vec(texts, Sent2VecSettings(dimension=8, buckets=500, epochs=1))
        >>> ngrams.shape == (texts.reader.size + 500, 8), papers.shape
        (True, (60, 8))
    """
    rng, size, width = np.random.default_rng(seed), texts.reader.size, settings.dimension
    sentences = training_sentences(texts)
    counts = np.bincount(sentences.tokens, minlength=size)
    share = prediction_shares(counts, settings.threshold)
    noise_ends = np.cumsum(np.sqrt(counts))
    # Bigrams begin at 0, so that one that was never seen adds nothing; words without a count stay 0 as well.
    initial = np.zeros((size + settings.buckets, width), np.float32)
    occurs = np.flatnonzero(counts)
    initial[occurs] = rng.uniform(-1 / width, 1 / width, (len(occurs), width))
    source, target = table(initial), table(np.zeros((size, width), np.float32))
    optimizer = torch.optim.SGD([source.weight, target.weight], lr=settings.learning_rate)
    total = settings.epochs * len(sentences)
    for passed in range(settings.epochs):
        order = rng.permutation(len(sentences))
        for start in range(0, len(order), settings.batch):
            rows = order[start : start + settings.batch]
            drawn = Predictions.draw(sentences.take(rows), share, settings, rng)
            if len(drawn.targets):
                done = (passed * len(sentences) + start) / total
                optimizer.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
                noise = np.searchsorted(noise_ends, rng.random(settings.noise) * noise_ends[-1], side="right")
                _step(drawn, noise, source, target, settings, optimizer)
            advance(len(rows))
    vectors = source.weight.detach().numpy()
    return vectors, mean_vectors(with_bigrams(texts.papers, size, settings.buckets), vectors)


def _step(
    drawn: Predictions,
    noise: NDArray[np.int64],
    source: nn.Embedding,
    target: nn.Embedding,
    settings: Sent2VecSettings,
    optimizer: torch.optim.Optimizer,
) -> None:
    loss = noise_loss(
        drawn.means(source.weight),
        target(torch.from_numpy(drawn.targets)),
        target(torch.from_numpy(noise)),
        same_paper(drawn.targets, noise),
        settings.negatives,
    )
    optimizer.zero_grad()
    (len(drawn.targets) * loss).backward()  # type: ignore[no-untyped-call]
    optimizer.step()


class MeanNgrams(VectorBaseline):
    """Ranks papers by the cosine of their vectors with the mean of a query's n-grams.

    The text of a query is its context with the title and the abstract of the citing paper, or with the sentences of its
    manuscript.

    Args:
        name: of the system, for tables.
        reader: numbers words.
        ngrams: (W + buckets, d) vectors.
        papers: (N, d) vectors.
        manuscripts: read in place of title and abstract; None: they are not.

    Example:
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> from cocite.text.vocabulary import Vocabulary
        >>> reader = ParagraphReader(ParagraphSettings(), Vocabulary(["parsing", "trees"], np.array([9, 4])))
        >>> vectors = np.eye(reader.size, 2, k=-3, dtype=np.float32)
        >>> baseline = MeanNgrams("Sent2Vec", reader, vectors, np.eye(3, 2, dtype=np.float32))
        >>> baseline.encode([Query("q", context="parsing [CIT]", title="Trees")]).tolist()
        [[0.5, 0.5]]
    """

    def __init__(
        self,
        name: str,
        reader: ParagraphReader,
        ngrams: NDArray[np.float32],
        papers: NDArray[np.float32],
        manuscripts: Manuscripts | None = None,
    ) -> None:
        super().__init__(name, papers, cosine=True)
        self.reader, self.ngrams, self.manuscripts = reader, ngrams, manuscripts

    def encode(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) means of the vectors of words and bigrams; 0 for a text of unknown words."""
        contexts = self.reader.read(pa.array([query.context for query in queries], pa.string()), CONTEXT)
        if self.manuscripts is not None:
            papers = self.manuscripts.words(self.reader, queries)
        else:
            texts = [f"{query.title} {query.abstract}" for query in queries]
            papers = only_words(self.reader.read(pa.array(texts, pa.string()), ABSTRACT))
        read = joined_pairs(only_words(contexts), papers)
        size = self.reader.size
        return mean_vectors(with_bigrams(read, size, len(self.ngrams) - size), self.ngrams)

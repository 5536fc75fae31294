"""Examples of pretraining: papers as documents of sentences, some of which are hidden (HIBERT: Zhang et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.bounds import Share, TextLength, Total
from cocite.config import Settings
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.pretraining.network import HiddenSentences
from cocite.text.documents import Documents, bounds
from cocite.text.sentence_texts import SentenceTexts, end_token
from cocite.text.token_lists import spans

WHICH, HOW, OTHER = range(3)
"""Streams of random numbers: which sentences are hidden, how, and by which other sentence they are replaced."""


class DocumentSettings(Settings):
    """How papers are cut into documents.

    Example:
        >>> DocumentSettings(sentences=20).least
        4
        >>> DocumentSettings.parse({"sentences": 3})
        Traceback (most recent call last):
        cocite.errors.ConfigError: least is 4, above sentences, 3: none would be left
    """

    sentences: TextLength = 30
    """Most sentences of a document; a longer paper becomes several documents."""
    least: TextLength = 4
    """A document of fewer sentences is left out."""
    dev: Total = 200
    """Most dev documents, drawn evenly."""

    @model_validator(mode="after")
    def _possible(self) -> DocumentSettings:
        if self.least > self.sentences:
            raise ValueError(f"least is {self.least}, above sentences, {self.sentences}: none would be left")
        return self


class HidingSettings(Settings):
    """Which sentences are hidden, and how.

    Example:
        >>> HidingSettings(masked=1.0, replaced=0.0).share
        0.15
    """

    share: float = Field(0.15, gt=0, lt=1)
    """Share of a document's sentences that are hidden; at least one is."""
    masked: Share = 0.8
    """Share of the hidden sentences whose every word is replaced by [MASK]."""
    replaced: Share = 0.1
    """Share of the hidden sentences that are replaced by another sentence, drawn evenly; the rest are unchanged."""

    @model_validator(mode="after")
    def _possible(self) -> HidingSettings:
        if self.masked + self.replaced > 1:
            raise ValueError(f"masked is {self.masked} and replaced {self.replaced}, together above 1")
        return self


@dataclass(frozen=True)
class DocumentSpans:
    """Documents as spans of the sentences of papers: title, abstract, body, in this order.

    Attributes:
        papers: (n,) rows.
        first: (n,) position of the document's first sentence in the paper.
        counts: (n,) sentences of the document.

    Example:
        >>> documents = DocumentSpans(
        ...     papers=np.array([4, 4, 9]), first=np.array([0, 20, 0]), counts=np.array([20, 21, 12]))
        >>> documents.spread(2).papers  # two of three, drawn evenly
        array([4, 9])
    """

    papers: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, texts: SentenceTexts, rows: NDArray[np.integer], settings: DocumentSettings) -> DocumentSpans:
        """The documents of papers, each paper cut into documents of even length."""
        total = (np.diff(texts.abstract_indptr) + np.diff(texts.body_indptr))[rows]
        parts = -(-total // settings.sentences)
        owner = np.repeat(np.arange(len(rows)), parts)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(parts) - parts, parts)
        first = total[owner] * number // parts[owner]
        counts = total[owner] * (number + 1) // parts[owner] - first
        kept = counts >= settings.least
        return cls(np.asarray(rows, np.int64)[owner[kept]], first[kept], counts[kept])

    def __len__(self) -> int:
        return len(self.papers)

    def take(self, numbers: NDArray[np.integer]) -> DocumentSpans:
        """The documents of some numbers."""
        return DocumentSpans(self.papers[numbers], self.first[numbers], self.counts[numbers])

    def spread(self, most: int) -> DocumentSpans:
        """At most ``most`` of the documents, drawn evenly."""
        if len(self) <= most:
            return self
        return self.take(np.linspace(0, len(self) - 1, most).astype(np.int64))


class SentenceHider:
    """Hides sentences of documents.

    Which sentences are hidden, and by what they are replaced, is a function of the given ``Draws`` of a document.

    Args:
        settings: which sentences are hidden, and how.
        texts: of the papers.
        pool: documents whose sentences replace hidden ones.

    Attributes:
        begin: the token before a sentence's first.

    Example:
        >>> from cocite.text.sentence_texts import SentenceReader
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> reader = SentenceReader(train_wordpiece(lambda: ["a b c d e f g h"] * 2, 300), most=8)
        >>> abstracts, abstract_indptr = reader.abstracts(["a"], ["b c"])
        >>> texts = SentenceTexts(reader.tokenizer, abstracts, abstract_indptr, *reader.bodies([["f g"]]), np.arange(1))
        >>> document = DocumentSpans(np.array([0]), first=np.array([0]), counts=np.array([3]))
        >>> hider = SentenceHider(HidingSettings(masked=1.0, replaced=0.0), texts, document)
        >>> batch = hider.hide(document, Draws(0, 0, np.array([5])))
        >>> reader.tokenizer.decode(batch.documents.ids), reader.tokenizer.decode(batch.answers)
        ('[MASK] [SEP] b c [SEP] f g [SEP]', 'a [SEP]')
    """

    def __init__(self, settings: HidingSettings, texts: SentenceTexts, pool: DocumentSpans) -> None:
        self.settings, self.texts, self.pool = settings, texts, pool
        tokenizer = texts.tokenizer
        end = end_token(tokenizer)
        self.mask = int(tokenizer.mask_token_id)
        self.begin = end if tokenizer.cls_token_id is None else int(tokenizer.cls_token_id)
        self._abstracts = len(texts.abstracts)
        self._starts = (np.asarray(texts.abstracts.starts), np.asarray(texts.bodies.starts))
        self._counts = np.concatenate([texts.abstracts.counts, texts.bodies.counts]).astype(np.int64)
        self._ends = bounds(self._counts)

    def tokens(self, documents: DocumentSpans) -> NDArray[np.int64]:
        """(n,) tokens of each document."""
        heads = np.diff(self.texts.abstract_indptr)[documents.papers]
        last = documents.first + documents.counts
        total = np.zeros(len(documents), np.int64)
        for indptr, before, low, high in (
            (self.texts.abstract_indptr, 0, np.minimum(documents.first, heads), np.minimum(last, heads)),
            (
                self.texts.body_indptr,
                self._abstracts,
                np.maximum(documents.first - heads, 0),
                np.maximum(last - heads, 0),
            ),
        ):
            start = before + np.asarray(indptr, np.int64)[documents.papers]
            total += self._ends[start + high] - self._ends[start + low]
        return total

    def hide(self, documents: DocumentSpans, draws: Draws) -> HiddenSentences:
        """Documents with some sentences hidden.

        Args:
            documents: n documents.
            draws: the random numbers of each.
        """
        owner = np.repeat(np.arange(len(documents)), documents.counts)
        position = spans(np.zeros(len(documents), np.int64), documents.counts)
        sentences = self._numbers(documents, owner, position)
        which = draws.of(WHICH).at(owner, position)
        least = np.full(len(documents), np.inf)
        np.minimum.at(least, owner, which)
        hidden = np.flatnonzero((which < self.settings.share) | (which == least[owner]))
        how = draws.of(HOW).at(owner[hidden], position[hidden])
        masked = how < self.settings.masked
        swapped = ~masked & (how < self.settings.masked + self.settings.replaced)

        shown = sentences.copy()
        at = hidden[swapped]
        shown[at] = self._others(draws, owner[at], position[at])
        ids, starts = self._tokens(shown)
        at = hidden[masked]
        ids[spans(starts[at], np.diff(starts)[at] - 1)] = self.mask  # the end token stays
        answers, limits = self._tokens(sentences[hidden])
        packed = Documents(*(torch.from_numpy(part) for part in (ids, starts, bounds(documents.counts))))
        return HiddenSentences(packed, *(torch.from_numpy(part) for part in (hidden, answers, limits)))

    def _numbers(
        self, documents: DocumentSpans, owner: NDArray[np.int64], position: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(S,) numbers of sentences, given the document and the position of each.

        The sentences of all abstracts come before those of all bodies.
        """
        papers, position = documents.papers[owner], documents.first[owner] + position
        start = np.asarray(self.texts.abstract_indptr, np.int64)[papers]
        heads = np.asarray(self.texts.abstract_indptr, np.int64)[papers + 1] - start
        body = self._abstracts + np.asarray(self.texts.body_indptr, np.int64)[papers] + position - heads
        return np.where(position < heads, start + position, body)

    def _others(
        self, draws: Draws, owner: NDArray[np.int64], position: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """A random sentence of the pool for each document and position."""
        other = draws.of(OTHER)
        # Two numbers for each position: one draws the document, the other the sentence in it.
        source = self.pool.take((other.at(owner, 2 * position) * len(self.pool)).astype(np.int64))
        inside = (other.at(owner, 2 * position + 1) * source.counts).astype(np.int64)
        return self._numbers(source, np.arange(len(source)), inside)

    def _tokens(self, sentences: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tokens of sentences, one after the other, and (S + 1,) where each begins."""
        counts = self._counts[sentences]
        begins = bounds(counts)
        ids = np.empty(int(begins[-1]), np.int64)
        is_body = sentences >= self._abstracts
        for source, starts, before, chosen in (
            (self.texts.abstracts, self._starts[0], 0, np.flatnonzero(~is_body)),
            (self.texts.bodies, self._starts[1], self._abstracts, np.flatnonzero(is_body)),
        ):
            first = starts[sentences[chosen] - before].astype(np.int64)
            ids[spans(begins[chosen], counts[chosen])] = source.ids[spans(first, counts[chosen])]
        return ids, begins

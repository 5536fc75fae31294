"""Papers as documents of sentences to pretrain on, with some sentences hidden (HIBERT: Zhang et al. 2019)."""

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
from cocite.text.sentence_texts import SentenceReader, SentenceTexts
from cocite.text.token_lists import spans

WHICH, HOW, OTHER = range(3)
"""Streams of random numbers."""


class DocumentSettings(Settings):
    """How papers are cut into documents."""

    sentences: TextLength = 30
    """Of a document at most; a longer paper is several."""
    least: TextLength = 4
    """A document of fewer sentences is left out."""
    dev: Total = 200
    """Documents that measure at most, drawn evenly."""

    @model_validator(mode="after")
    def _possible(self) -> DocumentSettings:
        if self.least > self.sentences:
            raise ValueError(f"least is {self.least}, above sentences, {self.sentences}: none would be left")
        return self


class HidingSettings(Settings):
    """Which sentences are hidden, and how."""

    share: float = Field(0.15, gt=0, lt=1)
    """Of a document's sentences; at least one is."""
    masked: Share = 0.8
    """Share of the hidden ones whose every word reads [MASK]."""
    replaced: Share = 0.1
    """Share of the hidden ones in whose place another sentence stands, drawn evenly; the rest stay as they are."""

    @model_validator(mode="after")
    def _possible(self) -> HidingSettings:
        if self.masked + self.replaced > 1:
            raise ValueError(f"masked is {self.masked} and replaced {self.replaced}, together above 1")
        return self


@dataclass(frozen=True)
class Pieces:
    """Documents, by the paper and the places of their sentences in it: title, abstract, body, in order.

    Attributes:
        papers: (n,) rows.
        first: (n,) place of the first sentence.
        counts: (n,) sentences.
    """

    papers: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, texts: SentenceTexts, rows: NDArray[np.integer], settings: DocumentSettings) -> Pieces:
        """Papers cut into documents of even length."""
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

    def take(self, places: NDArray[np.integer]) -> Pieces:
        """Some of them."""
        return Pieces(self.papers[places], self.first[places], self.counts[places])

    def spread(self, most: int) -> Pieces:
        """At most so many of them, drawn evenly."""
        if len(self) <= most:
            return self
        return self.take(np.linspace(0, len(self) - 1, most).astype(np.int64))


class Hiding:
    """Hides sentences of documents.

    Which are hidden, and what stands in their place, is a function of the numbers given for a document.

    Args:
        settings: which, and how.
        texts: of the papers.
        pool: documents whose sentences stand in for others.

    Attributes:
        begin: the token before a sentence's first.
    """

    def __init__(self, settings: HidingSettings, texts: SentenceTexts, pool: Pieces) -> None:
        self.settings, self.texts, self.pool = settings, texts, pool
        tokenizer = texts.tokenizer
        end = SentenceReader(tokenizer, 2).end
        self.mask = int(tokenizer.mask_token_id)
        self.begin = end if tokenizer.cls_token_id is None else int(tokenizer.cls_token_id)
        self._abstracts = len(texts.abstracts)
        self._starts = (np.asarray(texts.abstracts.starts), np.asarray(texts.bodies.starts))
        self._counts = np.concatenate([texts.abstracts.counts, texts.bodies.counts]).astype(np.int64)
        self._ends = bounds(self._counts)

    def tokens(self, pieces: Pieces) -> NDArray[np.int64]:
        """(n,) tokens of documents."""
        heads = np.diff(self.texts.abstract_indptr)[pieces.papers]
        last = pieces.first + pieces.counts
        total = np.zeros(len(pieces), np.int64)
        for indptr, before, low, high in (
            (self.texts.abstract_indptr, 0, np.minimum(pieces.first, heads), np.minimum(last, heads)),
            (
                self.texts.body_indptr,
                self._abstracts,
                np.maximum(pieces.first - heads, 0),
                np.maximum(last - heads, 0),
            ),
        ):
            start = before + np.asarray(indptr, np.int64)[pieces.papers]
            total += self._ends[start + high] - self._ends[start + low]
        return total

    def hide(self, pieces: Pieces, draws: Draws) -> HiddenSentences:
        """Documents with some sentences hidden.

        Args:
            pieces: n documents.
            draws: the numbers of each.
        """
        owner = np.repeat(np.arange(len(pieces)), pieces.counts)
        place = spans(np.zeros(len(pieces), np.int64), pieces.counts)
        sentences = self._numbers(pieces, owner, place)
        which = draws.of(WHICH).at(owner, place)
        least = np.full(len(pieces), np.inf)
        np.minimum.at(least, owner, which)
        hidden = np.flatnonzero((which < self.settings.share) | (which == least[owner]))
        how = draws.of(HOW).at(owner[hidden], place[hidden])
        masked = how < self.settings.masked
        swapped = ~masked & (how < self.settings.masked + self.settings.replaced)

        seen = sentences.copy()
        at = hidden[swapped]
        seen[at] = self._others(draws, owner[at], place[at])
        ids, starts = self._tokens(seen)
        at = hidden[masked]
        ids[spans(starts[at], np.diff(starts)[at] - 1)] = self.mask  # the end token stays
        answers, limits = self._tokens(sentences[hidden])
        documents = Documents(*(torch.from_numpy(part) for part in (ids, starts, bounds(pieces.counts))))
        return HiddenSentences(documents, *(torch.from_numpy(part) for part in (hidden, answers, limits)))

    def _numbers(
        self, pieces: Pieces, owner: NDArray[np.int64], place: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(S,) sentences of documents: those of all abstracts are numbered first, then those of all bodies."""
        papers, place = pieces.papers[owner], pieces.first[owner] + place
        start = np.asarray(self.texts.abstract_indptr, np.int64)[papers]
        heads = np.asarray(self.texts.abstract_indptr, np.int64)[papers + 1] - start
        body = self._abstracts + np.asarray(self.texts.body_indptr, np.int64)[papers] + place - heads
        return np.where(place < heads, start + place, body)

    def _others(self, draws: Draws, owner: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """A sentence of the pool for each place in a document."""
        other = draws.of(OTHER)
        chosen = self.pool.take((other.at(owner, 2 * place) * len(self.pool)).astype(np.int64))
        inside = (other.at(owner, 2 * place + 1) * chosen.counts).astype(np.int64)
        return self._numbers(chosen, np.arange(len(chosen)), inside)

    def _tokens(self, sentences: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The tokens of sentences, one behind the other, and (S + 1,) where each begins."""
        counts = self._counts[sentences]
        begins = bounds(counts)
        ids = np.empty(int(begins[-1]), np.int64)
        is_body = sentences >= self._abstracts
        for source, starts, before, there in (
            (self.texts.abstracts, self._starts[0], 0, np.flatnonzero(~is_body)),
            (self.texts.bodies, self._starts[1], self._abstracts, np.flatnonzero(is_body)),
        ):
            first = starts[sentences[there] - before].astype(np.int64)
            ids[spans(begins[there], counts[there])] = source.ids[spans(first, counts[there])]
        return ids, begins

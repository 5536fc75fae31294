"""Which sentences stand for a manuscript and for a paper, drawn anew each time (MP-BERT4CR, section 4.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import model_validator

from cocite.bounds import TextLengthOrNone
from cocite.config import Settings
from cocite.protocols import NO_ROW
from cocite.sampling.draws import MANUSCRIPTS, PAPERS, Draws
from cocite.text.documents import Documents, bounds
from cocite.text.sentence_texts import SentenceReader, SentenceTexts, Surroundings
from cocite.text.token_lists import TokenLists, spans

PLACE, NUMBER = 20, 23
"""Bits that hold a sentence's place in its text, and the number drawn for it."""
MOST = 1 << PLACE
"""Sentences of a body that are drawn from at most, and documents that are put together at once at most."""


class DynamicContextSettings(Settings):
    """How many sentences; the defaults are the paper's. There may be fewer."""

    around: TextLengthOrNone = 1
    """Sentences read on each side of the one with the citation."""
    earlier: TextLengthOrNone = 27
    """Sentences of a manuscript drawn from what stands before these."""
    abstract: TextLengthOrNone = 10
    """Sentences of a paper's abstract, from its beginning on; its title, where it is read, is the first."""
    body: TextLengthOrNone = 30
    """Sentences of a paper drawn from its body."""
    manuscript_abstract: TextLengthOrNone = 0
    """Sentences of the manuscript's own title and abstract that are read before all others; the paper reads none."""
    fixed: bool = False
    """Draw the same sentences each time: the *no_dynamic* variant of the paper's ablation."""

    @model_validator(mode="after")
    def _something(self) -> DynamicContextSettings:
        if not self.abstract + self.body:
            raise ValueError("abstract and body are both 0: nothing of a paper would be read")
        return self


@dataclass(frozen=True)
class _Part:
    """Some sentences of one source, each with the document that it is for."""

    source: TokenLists
    owner: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def runs(cls, source: TokenLists, starts: NDArray[np.int64], counts: NDArray[np.int64]) -> _Part:
        """For document i the sentences ``starts[i] ... starts[i] + counts[i] - 1``."""
        return cls(source, np.repeat(np.arange(len(counts)), counts), spans(starts, counts))


class DynamicContext:
    """Makes documents of manuscripts and papers.

    Sentences keep the order that they have in their text. What is drawn is a function of the numbers given; with
    ``fixed`` of the paper, or of the paper and the place in it, alone. A document for which there is no sentence at
    all is one of the end token alone.

    Args:
        settings: how many sentences.
        texts: of the papers.
    """

    def __init__(self, settings: DynamicContextSettings, texts: SentenceTexts) -> None:
        self.settings, self.texts = settings, texts
        self._empty = TokenLists.of([[SentenceReader(texts.tokenizer, 2).end]])

    def papers(self, rows: NDArray[np.integer], draws: Draws) -> Documents:
        """Papers: the beginning of the abstract, then sentences of the body.

        Args:
            rows: (n,) papers; the same one may come several times.
            draws: the numbers of n documents.
        """
        papers = np.asarray(rows, np.int64)
        first, count = _runs(self.texts.body_indptr, papers)
        body = self._drawn(first, count, self.settings.body, self._draws(draws.of(PAPERS), papers))
        return self._documents(len(papers), [self._heads(papers, self.settings.abstract), body])

    def manuscripts(
        self,
        citing: NDArray[np.integer],
        positions: NDArray[np.integer],
        draws: Draws,
        surroundings: Surroundings | None = None,
    ) -> Documents:
        """Manuscripts around the place of a citation: earlier sentences, then that of the citation and its neighbours.

        Where the body holds no sentence at that very position, the text given for it takes the place of the sentence
        and its neighbours; where there is none, the nearest sentence does.

        Args:
            citing: (n,) the papers, ``NO_ROW`` for one from elsewhere.
            positions: (n,) where in the body the citation's sentence stands, as in the store; -1 where that is unknown:
                then nothing is known to stand before it.
            draws: the numbers of n documents.
            surroundings: n texts around the places.
        """
        papers, wanted = np.asarray(citing, np.int64), np.asarray(positions, np.int64)
        settings, texts = self.settings, self.texts
        own = Surroundings.none(len(papers)) if surroundings is None else surroundings
        known = (papers != NO_ROW) & (wanted >= 0)
        first, count = _runs(texts.body_indptr, np.where(known, papers, NO_ROW))
        end = first + count
        place = self._at(first, end, wanted)
        exact = self._holds(place, end, wanted)
        given = ~exact & (np.diff(own.indptr) > 0)
        # The sentence and its neighbours, from the body or from the text given.
        inside = ~given & (count > 0)
        place = np.where(exact, place, self._nearest(first, end, place, wanted))
        low = np.where(inside, np.maximum(place - settings.around, first), 0)
        high = np.where(inside, np.minimum(place + settings.around + 1, end), 0)
        middle = own.indptr[:-1] + own.gap
        own_low = np.where(given, np.maximum(middle - settings.around, own.indptr[:-1]), 0)
        own_high = np.where(given, np.minimum(middle + settings.around + 1, own.indptr[1:]), 0)
        stop = np.where(inside, low, self._at(first, end, wanted - settings.around))
        earlier = np.maximum(stop - first, 0)
        return self._documents(
            len(papers),
            [
                self._heads(papers, settings.manuscript_abstract),
                self._drawn(
                    first,
                    earlier,
                    settings.earlier,
                    self._draws(draws.of(MANUSCRIPTS), (papers << 32) + wanted + 1),
                ),
                _Part.runs(texts.bodies, low, high - low),
                _Part.runs(own.sentences, own_low, own_high - own_low),
            ],
        )

    def contexts(self, numbers: NDArray[np.integer], draws: Draws) -> Documents:
        """The manuscripts of some of the store's contexts.

        Args:
            numbers: (n,) their positions in the store.
            draws: the numbers of n documents.
        """
        texts = self.texts
        return self.manuscripts(
            texts.context_citing[numbers],
            texts.context_positions[numbers],
            draws,
            texts.contexts.take(numbers),
        )

    # -- lengths --------------------------------------------------------------------------------------------

    def paper_tokens(self) -> NDArray[np.float64]:
        """(N,) tokens to be expected of each paper's document."""
        texts, settings = self.texts, self.settings
        rows = np.arange(len(texts))
        ends = bounds(texts.bodies.counts)
        first, count = _runs(texts.body_indptr, rows)
        mean = (ends[first + count] - ends[first]) / np.maximum(count, 1)
        read = np.minimum(count, settings.body) * mean
        return np.asarray(np.maximum(self._head_tokens(settings.abstract) + read, 1.0))

    def context_tokens(self) -> NDArray[np.float64]:
        """(C,) tokens to be expected of each of the store's contexts' manuscripts."""
        texts, settings = self.texts, self.settings
        citing, positions = (
            np.asarray(array, np.int64) for array in (texts.context_citing, texts.context_positions)
        )
        ends = bounds(texts.bodies.counts)
        first, count = _runs(texts.body_indptr, np.where(positions >= 0, citing, NO_ROW))
        mean = (ends[first + count] - ends[first]) / np.maximum(count, 1)
        place = self._at(first, first + count, positions)
        low = np.maximum(place - settings.around, first)
        near = (np.minimum(place + settings.around + 1, first + count) - low) * mean
        own = bounds(texts.contexts.sentences.counts)[texts.contexts.indptr]
        read = np.minimum(low - first, settings.earlier) * mean + np.where(np.diff(own), np.diff(own), near)
        return np.asarray(np.maximum(self._head_tokens(settings.manuscript_abstract)[citing] + read, 1.0))

    def _head_tokens(self, most: int) -> NDArray[np.int64]:
        """(N,) tokens of the beginning of each abstract."""
        ends = bounds(self.texts.abstracts.counts)
        first, count = _runs(self.texts.abstract_indptr, np.arange(len(self.texts)))
        return np.asarray(ends[first + np.minimum(count, most)] - ends[first])

    # -- choosing -------------------------------------------------------------------------------------------

    def _draws(self, draws: Draws, what: NDArray[np.int64]) -> Draws:
        """The numbers given, or those of what a document is of."""
        return Draws(0, 0, what) if self.settings.fixed else draws

    def _heads(self, rows: NDArray[np.int64], most: int) -> _Part:
        """The beginning of each abstract; none where there is no paper."""
        first, count = _runs(self.texts.abstract_indptr, rows)
        return _Part.runs(self.texts.abstracts, first, np.minimum(count, most))

    def _drawn(self, first: NDArray[np.int64], count: NDArray[np.int64], most: int, draws: Draws) -> _Part:
        """Of the body sentences ``first[i] ... first[i] + count[i] - 1`` at most ``most`` each, evenly drawn.

        Each sentence gets a number; those with the least are chosen. A key holds document, number and place, so that
        one sort of plain integers does it.
        """
        if len(first) > MOST:
            raise ValueError(f"{len(first)} documents at once; no more than {MOST} can be put together")
        count = np.minimum(count, MOST if most else 0)
        large = np.flatnonzero(count > most)
        owner = np.repeat(large, count[large])
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count[large]) - count[large], count[large])
        number = (draws.at(owner, place) * (1 << NUMBER)).astype(np.int64)
        keys = np.sort((owner << (NUMBER + PLACE)) | (number << PLACE) | place)
        owner = keys >> (NUMBER + PLACE)
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        chosen = rank < most
        small = np.where(count > most, 0, count)
        whole = _Part.runs(self.texts.bodies, np.zeros_like(small), small)
        pairs = np.concatenate(
            [(whole.owner << PLACE) | whole.number, (owner[chosen] << PLACE) | (keys[chosen] & (MOST - 1))]
        )
        pairs.sort()
        owner = pairs >> PLACE
        return _Part(self.texts.bodies, owner, first[owner] + (pairs & (MOST - 1)))

    def _at(
        self, first: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(n,) the first of each paper's sentences that stands at a position or behind it, else ``end``."""
        positions = self.texts.body_positions
        low, high = first.copy(), end.copy()
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) // 2
            behind = positions[middle] < wanted[open_]
            low[open_[behind]] = middle[behind] + 1
            high[open_[~behind]] = middle[~behind]
        return low

    def _holds(
        self, place: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(n,) whether the sentence at each place stands at the position wanted."""
        result = place < end
        result[result] = self.texts.body_positions[place[result]] == wanted[result]
        return result

    def _nearest(
        self,
        first: NDArray[np.int64],
        end: NDArray[np.int64],
        place: NDArray[np.int64],
        wanted: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """(n,) of the sentences before and at each place the one whose position is nearer; ``first`` of none."""
        some = np.flatnonzero(end > first)
        before, behind = np.maximum(place[some] - 1, first[some]), np.minimum(place[some], end[some] - 1)
        positions = self.texts.body_positions
        nearer = wanted[some] - positions[before] <= positions[behind] - wanted[some]
        result = first.copy()
        result[some] = np.where(nearer | (behind < place[some]), before, behind)
        return result

    # -- putting together -----------------------------------------------------------------------------------

    def _documents(self, count: int, parts: list[_Part]) -> Documents:
        """``count`` documents of what each part has for them, in the order of the parts."""
        filled = np.zeros(count, bool)
        for part in parts:
            filled[part.owner] = True
        lacking = np.flatnonzero(~filled)
        parts = [*parts, _Part(self._empty, lacking, np.zeros(len(lacking), np.int64))]
        owner = np.concatenate([part.owner for part in parts])
        lengths = [np.asarray(part.source.counts[part.number], np.int64) for part in parts]
        order = np.argsort(owner, kind="stable")
        begins = bounds(np.concatenate(lengths)[order])
        places = np.empty(len(owner), np.int64)
        places[order] = begins[:-1]
        ids = np.empty(int(begins[-1]), np.int64)
        cuts = np.cumsum([len(part.owner) for part in parts])[:-1]
        for part, place, length in zip(parts, np.split(places, cuts), lengths, strict=True):
            ids[spans(place, length)] = part.source.ids[spans(part.source.starts[part.number], length)]
        documents = bounds(np.bincount(owner, minlength=count))
        return Documents(*(torch.from_numpy(array) for array in (ids, begins, documents)))


def _runs(indptr: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) where the runs of some rows begin, and how long they are; ``NO_ROW`` has none."""
    there = rows != NO_ROW
    at = np.where(there, rows, 0)
    first = np.asarray(indptr[at], np.int64)
    return first, np.where(there, indptr[at + 1] - first, 0)

"""Dynamic context sampling: draws the sentences that a manuscript or a paper consists of (section 4.1.1)."""

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
from cocite.text.sentence_texts import SentenceTexts, Surroundings, end_token
from cocite.text.token_lists import TokenLists, spans

POSITION_BITS, NUMBER_BITS = 20, 23
"""Bits of a sort key for a sentence's position in its text, and for the random number drawn for it."""
MOST = 1 << POSITION_BITS
"""Most sentences of a body that are drawn from, and most documents that are assembled at once."""


class DynamicContextSettings(Settings):
    """The most sentences that are read of each part of a text; the defaults are the paper's.

    Example:
        >>> DynamicContextSettings(earlier=10, body=0).abstract
        10
        >>> DynamicContextSettings.parse({"abstract": 0, "body": 0})
        Traceback (most recent call last):
        cocite.errors.ConfigError: abstract and body are both 0: nothing of a paper would be read
    """

    around: TextLengthOrNone = 1
    """Sentences read on each side of the one with the citation."""
    earlier: TextLengthOrNone = 27
    """Sentences of a manuscript drawn from those before these."""
    abstract: TextLengthOrNone = 10
    """First sentences of a paper's abstract; its title, where it is read, is the first of them."""
    body: TextLengthOrNone = 30
    """Sentences drawn from a paper's body."""
    manuscript_abstract: TextLengthOrNone = 0
    """Sentences of the manuscript's own title and abstract that are read before all others; none in the paper."""
    near: TextLengthOrNone = 0
    """Words on each side of a gap that are read once more, as a sentence of their own before all others. The paper has
    none: it reads the same of all citations of a sentence."""
    fixed: bool = False
    """Whether the same sentences are drawn each time: the *no_dynamic* variant of the paper's ablation."""

    @model_validator(mode="after")
    def _reads_papers(self) -> DynamicContextSettings:
        if not self.abstract + self.body:
            raise ValueError("abstract and body are both 0: nothing of a paper would be read")
        return self


@dataclass(frozen=True)
class _Part:
    """Some sentences of one source, each with the document that it belongs to."""

    source: TokenLists
    owner: NDArray[np.int64]
    number: NDArray[np.int64]
    first: int = 0
    """Number of the source's first sentence among all sentences that may have vectors."""
    numbers: NDArray[np.int64] | None = None
    """Which of these sentences the source has; None: all, in order."""

    @classmethod
    def runs(
        cls,
        source: TokenLists,
        starts: NDArray[np.int64],
        counts: NDArray[np.int64],
        first: int = 0,
        numbers: NDArray[np.int64] | None = None,
    ) -> _Part:
        """Document i has the sentences ``starts[i] ... starts[i] + counts[i] - 1``."""
        return cls(source, np.repeat(np.arange(len(counts)), counts), spans(starts, counts), first, numbers)

    def among_all(self) -> NDArray[np.int64]:
        """The sentences' numbers among all sentences that may have vectors."""
        return self.first + (self.number if self.numbers is None else self.numbers[self.number])


class DynamicContext:
    """Assembles documents of manuscripts and papers from their sentences.

    Sentences keep the order that they have in their text. The choice of sentences is a function of the given ``Draws``;
    with ``fixed``, of the paper, or of the paper and the position in it, alone. A document for which there is no
    sentence at all has one that is the end token alone.

    Args:
        settings: how many sentences.
        texts: of the papers.

    Example:
        >>> from cocite.text.sentence_texts import SentenceReader
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> reader = SentenceReader(train_wordpiece(lambda: ["a b c d e f g h"] * 2, 300), most=8)
        >>> abstracts, abstract_indptr = reader.abstracts(["a"], ["b c"])
        >>> bodies, body_indptr = reader.bodies([["d", "e", "f", "g", "h"]])
        >>> texts = SentenceTexts(reader.tokenizer, abstracts, abstract_indptr, bodies, body_indptr, np.arange(5))
        >>> context = DynamicContext(DynamicContextSettings(abstract=2, body=2), texts)
        >>> document = context.papers(np.array([0]), Draws(0, 0, np.array([0])))
        >>> reader.tokenizer.decode(document.ids)  # title and abstract, two sentences of the body
        'a [SEP] b c [SEP] d [SEP] h [SEP]'
    """

    def __init__(self, settings: DynamicContextSettings, texts: SentenceTexts) -> None:
        self.settings, self.texts = settings, texts
        self._empty = TokenLists.of([[end_token(texts.tokenizer)]])
        vectors = texts.vectors
        self._bodies, self._contexts = (vectors.bodies, vectors.contexts) if vectors else (0, 0)

    def papers(self, rows: NDArray[np.integer], draws: Draws) -> Documents:
        """The documents of papers: the beginning of the abstract, then sentences of the body.

        Args:
            rows: (n,) papers; the same one may come several times.
            draws: the random numbers of n documents.
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
        """The documents of manuscripts at a citation: earlier sentences, then the citing sentence and its neighbours.

        Where the body has no sentence at the position of the citation, the text given in ``surroundings`` replaces the
        sentence and its neighbours; without such a text, the nearest sentence of the body does.

        Args:
            citing: (n,) the papers, ``NO_ROW`` for one that is not in the corpus.
            positions: (n,) the position of the citing sentence in the body, as in the store; -1 where it is unknown:
                then no sentence of the body counts as earlier.
            draws: the random numbers of n documents.
            surroundings: n texts around the citations, with the words next to them where these are to be read.
        """
        papers, wanted = np.asarray(citing, np.int64), np.asarray(positions, np.int64)
        settings, texts = self.settings, self.texts
        own = Surroundings.none(len(papers)) if surroundings is None else surroundings
        known = (papers != NO_ROW) & (wanted >= 0)
        first, count = _runs(texts.body_indptr, np.where(known, papers, NO_ROW))
        end = first + count
        number = self._first_at_or_after(first, end, wanted)
        exact = self._is_at(number, end, wanted)
        outside = ~exact & (np.diff(own.indptr) > 0)
        # The sentence and its neighbours, from the body or from the given text.
        inside = ~outside & (count > 0)
        number = np.where(exact, number, self._nearest(first, end, number, wanted))
        low = np.where(inside, np.maximum(number - settings.around, first), 0)
        high = np.where(inside, np.minimum(number + settings.around + 1, end), 0)
        middle = own.indptr[:-1] + own.gap
        own_low = np.where(outside, np.maximum(middle - settings.around, own.indptr[:-1]), 0)
        own_high = np.where(outside, np.minimum(middle + settings.around + 1, own.indptr[1:]), 0)
        stop = np.where(inside, low, self._first_at_or_after(first, end, wanted - settings.around))
        earlier = np.maximum(stop - first, 0)
        each = np.arange(len(papers))
        near = [] if own.near is None else [_Part(own.near, each, each)]
        return self._documents(
            len(papers),
            [
                *near,
                self._heads(papers, settings.manuscript_abstract),
                self._drawn(
                    first,
                    earlier,
                    settings.earlier,
                    self._draws(draws.of(MANUSCRIPTS), (papers << 32) + wanted + 1),
                ),
                _Part.runs(texts.bodies, low, high - low, self._bodies),
                _Part.runs(own.sentences, own_low, own_high - own_low, self._contexts, own.numbers),
            ],
        )

    def contexts(self, numbers: NDArray[np.integer], draws: Draws) -> Documents:
        """The documents of the manuscripts of some of the store's contexts.

        Args:
            numbers: (n,) positions of the contexts in the store.
            draws: the random numbers of n documents.
        """
        texts = self.texts
        return self.manuscripts(
            texts.context_citing[numbers],
            texts.context_positions[numbers],
            draws,
            texts.contexts.take(numbers),
        )

    def body_ends(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """(n,) one past the last body sentence that the manuscripts of some contexts may read; 0 where they read none.

        Args:
            numbers: (n,) positions of the contexts in the store.
        """
        citing, wanted = (
            np.asarray(array[numbers], np.int64)
            for array in (self.texts.context_citing, self.texts.context_positions)
        )
        first, count = _runs(self.texts.body_indptr, np.where(wanted >= 0, citing, NO_ROW))
        end = np.where(count > 0, first + count, 0)
        return np.minimum(self._first_at_or_after(first, end, wanted) + self.settings.around + 1, end)

    # -- lengths --------------------------------------------------------------------------------------------

    def paper_tokens(self) -> NDArray[np.float64]:
        """(N,) expected number of tokens of each paper's document."""
        texts, settings = self.texts, self.settings
        rows = np.arange(len(texts))
        ends = bounds(texts.bodies.counts)
        first, count = _runs(texts.body_indptr, rows)
        mean = (ends[first + count] - ends[first]) / np.maximum(count, 1)
        read = np.minimum(count, settings.body) * mean
        return np.asarray(np.maximum(self._head_tokens(settings.abstract) + read, 1.0))

    def context_tokens(self) -> NDArray[np.float64]:
        """(C,) expected number of tokens of the manuscript of each of the store's contexts."""
        texts, settings = self.texts, self.settings
        citing, positions = (
            np.asarray(array, np.int64) for array in (texts.context_citing, texts.context_positions)
        )
        ends = bounds(texts.bodies.counts)
        first, count = _runs(texts.body_indptr, np.where(positions >= 0, citing, NO_ROW))
        mean = (ends[first + count] - ends[first]) / np.maximum(count, 1)
        number = self._first_at_or_after(first, first + count, positions)
        low = np.maximum(number - settings.around, first)
        near = (np.minimum(number + settings.around + 1, first + count) - low) * mean
        own = bounds(texts.contexts.sentences.counts)[texts.contexts.indptr]
        read = np.minimum(low - first, settings.earlier) * mean + np.where(np.diff(own), np.diff(own), near)
        if texts.contexts.near is not None:
            read = read + texts.contexts.near.counts
        return np.asarray(np.maximum(self._head_tokens(settings.manuscript_abstract)[citing] + read, 1.0))

    def _head_tokens(self, most: int) -> NDArray[np.int64]:
        """(N,) tokens of the first ``most`` sentences of each abstract."""
        ends = bounds(self.texts.abstracts.counts)
        first, count = _runs(self.texts.abstract_indptr, np.arange(len(self.texts)))
        return np.asarray(ends[first + np.minimum(count, most)] - ends[first])

    # -- choosing -------------------------------------------------------------------------------------------

    def _draws(self, draws: Draws, sources: NDArray[np.int64]) -> Draws:
        """The given random numbers, or (``fixed``) those of the numbers of the documents' sources."""
        return Draws(0, 0, sources) if self.settings.fixed else draws

    def _heads(self, rows: NDArray[np.int64], most: int) -> _Part:
        """The first ``most`` sentences of each abstract; none for ``NO_ROW``."""
        first, count = _runs(self.texts.abstract_indptr, rows)
        return _Part.runs(self.texts.abstracts, first, np.minimum(count, most))

    def _drawn(self, first: NDArray[np.int64], count: NDArray[np.int64], most: int, draws: Draws) -> _Part:
        """At most ``most`` of the body sentences ``first[i] ... first[i] + count[i] - 1`` of each i, drawn evenly.

        Each sentence gets a random number; those with the least are chosen. A key consists of document, number and
        position, so that one sort of plain integers suffices.
        """
        if len(first) > MOST:
            raise ValueError(f"{len(first)} documents at once; no more than {MOST} can be assembled")
        count = np.minimum(count, MOST if most else 0)
        large = np.flatnonzero(count > most)
        owner = np.repeat(large, count[large])
        position = np.arange(len(owner)) - np.repeat(np.cumsum(count[large]) - count[large], count[large])
        number = (draws.at(owner, position) * (1 << NUMBER_BITS)).astype(np.int64)
        keys = np.sort((owner << (NUMBER_BITS + POSITION_BITS)) | (number << POSITION_BITS) | position)
        owner = keys >> (NUMBER_BITS + POSITION_BITS)
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        chosen = rank < most
        small = np.where(count > most, 0, count)
        whole = _Part.runs(self.texts.bodies, np.zeros_like(small), small)
        pairs = np.concatenate(
            [
                (whole.owner << POSITION_BITS) | whole.number,
                (owner[chosen] << POSITION_BITS) | (keys[chosen] & (MOST - 1)),
            ]
        )
        pairs.sort()
        owner = pairs >> POSITION_BITS
        return _Part(self.texts.bodies, owner, first[owner] + (pairs & (MOST - 1)), self._bodies)

    def _first_at_or_after(
        self, first: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """(n,) the first of each paper's sentences whose position is at least the wanted one, else ``end``."""
        positions = self.texts.body_positions
        low, high = first.copy(), end.copy()
        while (searched := np.flatnonzero(low < high)).size:  # binary search, all papers at once
            middle = (low[searched] + high[searched]) // 2
            before = positions[middle] < wanted[searched]
            low[searched[before]] = middle[before] + 1
            high[searched[~before]] = middle[~before]
        return low

    def _is_at(
        self, number: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(n,) whether each sentence has the wanted position."""
        result = number < end
        result[result] = self.texts.body_positions[number[result]] == wanted[result]
        return result

    def _nearest(
        self,
        first: NDArray[np.int64],
        end: NDArray[np.int64],
        number: NDArray[np.int64],
        wanted: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """(n,) the sentence ``number[i] - 1`` or ``number[i]``, whichever is nearer; ``first`` of an empty body."""
        filled = np.flatnonzero(end > first)
        before = np.maximum(number[filled] - 1, first[filled])
        after = np.minimum(number[filled], end[filled] - 1)
        positions = self.texts.body_positions
        nearer = wanted[filled] - positions[before] <= positions[after] - wanted[filled]
        result = first.copy()
        result[filled] = np.where(nearer | (after < number[filled]), before, after)
        return result

    # -- assembling -----------------------------------------------------------------------------------------

    def _documents(self, count: int, parts: list[_Part]) -> Documents:
        """``count`` documents, each of the sentences that the parts have for it, in the order of the parts."""
        filled = np.zeros(count, bool)
        for part in parts:
            filled[part.owner] = True
        # A document needs a sentence: the mean over none is NaN.
        lacking = np.flatnonzero(~filled)
        parts = [*parts, _Part(self._empty, lacking, np.zeros(len(lacking), np.int64), -1)]
        owner = np.concatenate([part.owner for part in parts])
        lengths = [np.asarray(part.source.counts[part.number], np.int64) for part in parts]
        order = np.argsort(owner, kind="stable")
        begins = bounds(np.concatenate(lengths)[order])
        starts = np.empty(len(owner), np.int64)
        starts[order] = begins[:-1]
        ids = np.empty(int(begins[-1]), np.int64)
        cuts = np.cumsum([len(part.owner) for part in parts])[:-1]
        for part, start, length in zip(parts, np.split(starts, cuts), lengths, strict=True):
            ids[spans(start, length)] = part.source.ids[spans(part.source.starts[part.number], length)]
        documents = bounds(np.bincount(owner, minlength=count))
        vectors = None
        if self.texts.vectors is not None:
            numbers = np.concatenate([part.among_all() for part in parts])[order]
            vectors = torch.from_numpy(self.texts.vectors.take(numbers))
        packed = [torch.from_numpy(array) for array in (ids, begins, documents)]
        return Documents(packed[0], packed[1], packed[2], vectors)


def _runs(indptr: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) the first entry of each row's run, and the length of the run, which is 0 for ``NO_ROW``."""
    present = rows != NO_ROW
    at = np.where(present, rows, 0)
    first = np.asarray(indptr[at], np.int64)
    return first, np.where(present, indptr[at + 1] - first, 0)

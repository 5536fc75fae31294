"""Papers of any corpus, and queries, as the sentences that MP-BERT4CR reads: drawn once for all, by the id."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus, id_hash
from cocite.protocols import NO_ROW, Query
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext, DynamicContextSettings
from cocite.text.documents import Documents
from cocite.text.sentence_texts import SentenceReader, SentenceTexts
from cocite.text.sentences import split_sentences
from cocite.text.token_lists import spans

QUERY_SENTENCES = 30
"""Sentences of a manuscript without a gap that are read at most: title and abstract."""


class Reading:
    """Makes documents of what an encoder is given.

    Args:
        reader: makes tokens.
        settings: how many sentences.
        title: whether a title is read as the first sentence of the abstract.
        sentences: that the model reads of a document at most.
    """

    def __init__(
        self, reader: SentenceReader, settings: DynamicContextSettings, *, title: bool, sentences: int
    ) -> None:
        self.reader, self.title = reader, title
        self.settings = settings.model_copy(update={"fixed": False})
        self.whole = self.settings.model_copy(update={"abstract": min(QUERY_SENTENCES, sentences), "body": 0})

    def papers(self, corpus: Corpus, rows: NDArray[np.integer]) -> Documents:
        """Some papers: beginning of the abstract, and sentences of the body; only those are made tokens of."""
        ids, titles, abstracts = (corpus.papers.take(name, rows) for name in ("id", "title", "abstract"))
        draws = Draws(0, 0, _numbers(ids))
        first = np.asarray(corpus.sentence_indptr, np.int64)[rows]
        owner, place = drawn(
            np.asarray(corpus.sentence_indptr, np.int64)[np.asarray(rows) + 1] - first,
            self.settings.body,
            draws,
        )
        chosen = corpus.sentences.take("text", first[owner] + place)
        texts = self._texts(titles, abstracts, _grouped(chosen, owner, len(rows)), place)
        return DynamicContext(self.settings, texts).papers(np.arange(len(rows)), draws)

    def manuscripts(self, queries: Sequence[Query]) -> Documents:
        """Queries without a gap: their titles and abstracts."""
        texts = self._texts(
            [query.title for query in queries],
            [query.abstract for query in queries],
            [[] for _ in queries],
            np.empty(0, np.int64),
        )
        return DynamicContext(self.whole, texts).papers(
            np.arange(len(queries)), Draws(0, 0, np.zeros(len(queries), np.int64))
        )

    def gaps(self, queries: Sequence[Query], corpus: Corpus | None) -> Documents:
        """Queries with a gap.

        Where a query's paper is in the corpus and has a body, the sentences before ``Query.sentence`` and around it are
        read; elsewhere the context, cut into sentences, and for what stands before it the abstract.

        Args:
            queries: local ones.
            corpus: that their papers are rows of; None: none is known.
        """
        known = np.array([query.paper != NO_ROW and query.sentence >= 0 for query in queries], bool)
        if corpus is None:
            known[:] = False
        else:
            rows = np.array([query.paper for query in queries], np.int64)
            known[known] = np.diff(corpus.sentence_indptr)[rows[known]] > 0
        # A manuscript that several gaps are in is read once.
        number: dict[int | tuple[str, str], int] = {}
        citing = np.array(
            [
                number.setdefault(query.paper if held else (query.title, query.abstract), len(number))
                for query, held in zip(queries, known.tolist(), strict=True)
            ],
            np.int64,
        )
        _, head = np.unique(citing, return_index=True)
        heads = [queries[i] for i in head.tolist()]
        positions = np.array([query.sentence for query in queries], np.int64)
        last = np.full(len(heads), NO_ROW, np.int64)
        np.maximum.at(last, citing, positions + self.settings.around)
        bodies, places = self._bodies(heads, known[head], last, corpus)
        titles, abstracts = [query.title for query in heads], [query.abstract for query in heads]
        texts = self._texts(titles, abstracts, bodies, places)
        # A gap in an unknown body stands behind all that is given of it.
        positions = np.where(known, positions, np.diff(texts.body_indptr)[citing] + self.settings.around)
        contexts = [query.context for query in queries]
        draws = Draws(0, 0, _numbers(contexts))
        around = self.reader.surroundings(contexts)
        return DynamicContext(self.settings, texts).manuscripts(citing, positions, draws, around)

    @staticmethod
    def _bodies(
        heads: Sequence[Query], known: NDArray[np.bool_], last: NDArray[np.int64], corpus: Corpus | None
    ) -> tuple[list[list[str]], NDArray[np.int64]]:
        """What stands in manuscripts up to the position ``last`` of each, as sentences, and their positions."""
        abstracts = split_sentences(
            "" if held else query.abstract for query, held in zip(heads, known, strict=True)
        )
        bodies, places = [], []
        for query, sentences, held, stop in zip(heads, abstracts, known.tolist(), last.tolist(), strict=True):
            at = np.arange(len(sentences))
            if held and corpus is not None:
                start, end = corpus.sentence_indptr[query.paper : query.paper + 2].tolist()
                at = np.asarray(corpus.sentences.column("position")[start:end], np.int64)
                at = at[: np.searchsorted(at, stop, side="right")]
                sentences = corpus.sentences.take("text", np.arange(start, start + len(at)))
            bodies.append(sentences)
            places.append(at)
        return bodies, np.concatenate([np.empty(0, np.int64), *places])

    def _texts(
        self,
        titles: Sequence[str | None],
        abstracts: Sequence[str | None],
        bodies: Sequence[Sequence[str]],
        positions: NDArray[np.integer],
    ) -> SentenceTexts:
        heads, head_indptr = self.reader.abstracts(titles, abstracts, title=self.title)
        body, body_indptr = self.reader.bodies(bodies)
        return SentenceTexts(
            self.reader.tokenizer, heads, head_indptr, body, body_indptr, positions.astype(np.int32)
        )


def drawn(
    counts: NDArray[np.integer], most: int, draws: Draws
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At most ``most`` of each paper's sentences, evenly drawn: the paper and the place of each, in order.

    Args:
        counts: (n,) sentences of each paper.
        most: how many are read.
        draws: the numbers of n papers.
    """
    there: NDArray[np.int64] = np.asarray(counts, np.int64) * bool(most)
    owner = np.repeat(np.arange(len(there)), there)
    place = spans(np.zeros(len(there), np.int64), there)
    order = np.lexsort((draws.at(owner, place), owner))
    rank = np.arange(len(order)) - np.searchsorted(owner, owner)
    chosen = np.sort(order[rank < most])
    return owner[chosen], place[chosen]


def _numbers(ids: Sequence[str]) -> NDArray[np.int64]:
    """A number for each id, the same in every process."""
    return np.array([id_hash(name) >> 1 for name in ids], np.int64)


def _grouped(texts: Sequence[str], owner: NDArray[np.int64], count: int) -> list[Sequence[str]]:
    cuts = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return [texts[start:end] for start, end in pairwise(cuts)]

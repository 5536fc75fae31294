"""The documents that the encoder reads: papers of any corpus, and queries.

Which sentences are read is drawn once for each paper, by its id, and for each query, by the text around its gap.
"""

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
"""Most sentences that are read of a manuscript without a gap: its title and abstract."""


class EncoderInputs:
    """Makes documents of papers and queries.

    Args:
        reader: makes tokens of sentences.
        settings: how many sentences.
        title: whether a title is read as the first sentence of the abstract.
        sentences: most sentences that the model reads of a document.

    Example:
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> reader = SentenceReader(train_wordpiece(lambda: ["bm25 ranks documents well ."] * 2, 300), most=8)
        >>> inputs = EncoderInputs(reader, DynamicContextSettings(), title=True, sentences=12)
        >>> query = Query("q", title="BM25", context="BM25 TARGETCIT ranks documents")
        >>> reader.tokenizer.decode(inputs.gaps([query], corpus=None).ids)
        'bm25 ranks documents [SEP]'
    """

    def __init__(
        self, reader: SentenceReader, settings: DynamicContextSettings, *, title: bool, sentences: int
    ) -> None:
        self.reader, self.title = reader, title
        self.settings = settings.model_copy(update={"fixed": False})
        self.whole = self.settings.model_copy(update={"abstract": min(QUERY_SENTENCES, sentences), "body": 0})

    def papers(self, corpus: Corpus, rows: NDArray[np.integer]) -> Documents:
        """The documents of papers: the beginning of the abstract, and sentences of the body.

        Only the chosen sentences of a body are tokenised.
        """
        ids, titles, abstracts = (corpus.papers.take(name, rows) for name in ("id", "title", "abstract"))
        # By the papers' ids and not their rows: a paper has the same vector in every corpus and index.
        draws = Draws(0, 0, _numbers(ids))
        indptr = np.asarray(corpus.sentence_indptr, np.int64)
        first = indptr[rows]
        owner, position = draw_sentences(indptr[np.asarray(rows) + 1] - first, self.settings.body, draws)
        chosen = corpus.sentences.take("text", first[owner] + position)
        texts = self._texts(titles, abstracts, _grouped(chosen, owner, len(rows)), position)
        return DynamicContext(self.settings, texts).papers(np.arange(len(rows)), draws)

    def manuscripts(self, queries: Sequence[Query]) -> Documents:
        """The documents of queries without a gap: their titles and abstracts."""
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
        """The documents of queries with a gap.

        Where a query's paper is in the corpus and has a body, the sentences before ``Query.sentence`` and around it are
        read. Otherwise the context is split into sentences, and the abstract counts as the text before it.

        Args:
            queries: local ones.
            corpus: whose rows ``Query.paper`` names; None: the papers of the queries are not in a corpus.
        """
        known = np.array([query.paper != NO_ROW and query.sentence >= 0 for query in queries], bool)
        if corpus is None:
            known[:] = False
        else:
            rows = np.array([query.paper for query in queries], np.int64)
            known[known] = np.diff(corpus.sentence_indptr)[rows[known]] > 0
        # The text of a manuscript with several gaps is read once.
        number: dict[int | tuple[str, str], int] = {}
        citing = np.array(
            [
                number.setdefault(query.paper if in_corpus else (query.title, query.abstract), len(number))
                for query, in_corpus in zip(queries, known.tolist(), strict=True)
            ],
            np.int64,
        )
        _, head = np.unique(citing, return_index=True)
        heads = [queries[i] for i in head.tolist()]
        positions = np.array([query.sentence for query in queries], np.int64)
        last = np.full(len(heads), NO_ROW, np.int64)
        np.maximum.at(last, citing, positions + self.settings.around)
        bodies, body_positions = self._bodies(heads, known[head], last, corpus)
        titles, abstracts = [query.title for query in heads], [query.abstract for query in heads]
        texts = self._texts(titles, abstracts, bodies, body_positions)
        # A gap in an unknown body comes after all sentences that are given of it.
        positions = np.where(known, positions, np.diff(texts.body_indptr)[citing] + self.settings.around)
        contexts = [query.context for query in queries]
        draws = Draws(0, 0, _numbers(contexts))
        around = self.reader.surroundings(contexts, near=self.settings.near)
        return DynamicContext(self.settings, texts).manuscripts(citing, positions, draws, around)

    @staticmethod
    def _bodies(
        heads: Sequence[Query], known: NDArray[np.bool_], last: NDArray[np.int64], corpus: Corpus | None
    ) -> tuple[list[list[str]], NDArray[np.int64]]:
        """The sentences of each manuscript up to the position ``last``, and their positions."""
        abstracts = split_sentences(
            "" if in_corpus else query.abstract for query, in_corpus in zip(heads, known, strict=True)
        )
        bodies, positions = [], []
        for query, sentences, in_corpus, stop in zip(
            heads, abstracts, known.tolist(), last.tolist(), strict=True
        ):
            at = np.arange(len(sentences))
            if in_corpus and corpus is not None:
                start, end = corpus.sentence_indptr[query.paper : query.paper + 2].tolist()
                at = np.asarray(corpus.sentences.column("position")[start:end], np.int64)
                at = at[: np.searchsorted(at, stop, side="right")]
                sentences = corpus.sentences.take("text", np.arange(start, start + len(at)))
            bodies.append(sentences)
            positions.append(at)
        return bodies, np.concatenate([np.empty(0, np.int64), *positions])

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


def draw_sentences(
    counts: NDArray[np.integer], most: int, draws: Draws
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """At most ``most`` sentences of each paper, drawn evenly: the paper and the position of each, in order.

    Args:
        counts: (n,) sentences of each paper.
        most: how many are read.
        draws: the random numbers of n papers.

    Example:
        >>> owner, position = draw_sentences(np.array([2, 9]), 3, Draws(0, 0, np.array([0, 1])))
        >>> owner, position
        (array([0, 0, 1, 1, 1]), array([0, 1, 2, 5, 7]))
    """
    available: NDArray[np.int64] = np.asarray(counts, np.int64) * bool(most)
    owner = np.repeat(np.arange(len(available)), available)
    position = spans(np.zeros(len(available), np.int64), available)
    order = np.lexsort((draws.at(owner, position), owner))
    rank = np.arange(len(order)) - np.searchsorted(owner, owner)
    chosen = np.sort(order[rank < most])
    return owner[chosen], position[chosen]


def _numbers(texts: Sequence[str]) -> NDArray[np.int64]:
    """A number for each id or text, the same in every process."""
    return np.array([id_hash(text) >> 1 for text in texts], np.int64)


def _grouped(texts: Sequence[str], owner: NDArray[np.int64], count: int) -> list[Sequence[str]]:
    """The texts of each of ``count`` papers, given the ascending paper of each text."""
    cuts = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return [texts[start:end] for start, end in pairwise(cuts)]

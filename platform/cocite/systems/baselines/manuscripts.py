"""What MP-BERT4CR reads of a manuscript around a gap, as texts that any baseline can read too.

The sentences are chosen by the encoder's own code (:mod:`cocite.systems.mp_bert4cr.encoder_inputs`): the beginning of
title and abstract, some sentences before the gap, the sentence of the gap and its neighbours. They are whole here, of
which the encoder reads the first tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.systems.baselines.texts import only_words
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder_inputs import QUERY_SENTENCES, EncoderInputs
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import ABSTRACT, Paragraphs
from cocite.text.sentence_texts import SentenceReader
from cocite.text.token_lists import TokenLists


class ManuscriptSettings(Settings):
    """Which sentences of a manuscript are read; the defaults are the paper's.

    Example:
        >>> ManuscriptSettings.parse({"contexts": {"earlier": 3}}).contexts.earlier
        3
    """

    contexts: DynamicContextSettings = DynamicContextSettings()
    """As in a recipe of MP-BERT4CR; what is read of cited papers does not matter."""
    title: bool = True
    """Whether a title is read as the first sentence of the abstract."""


class Manuscripts:
    """Reads the manuscripts of local queries as MP-BERT4CR does.

    Args:
        corpus: has the bodies of the manuscripts that queries name by ``Query.paper``.
        settings: which sentences are read.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = ManuscriptSettings.parse({"contexts": {"manuscript_abstract": 1}})
        >>> manuscripts = Manuscripts(starter_corpus(), settings)
        >>> query = Query("q", title="Ranking", abstract="We rank. It works.", context="BM25 [CIT] ranks well.")
        >>> manuscripts.sentences([query])
        [['Ranking', 'We rank.', 'It works.', 'BM25 ranks well.']]
    """

    def __init__(self, corpus: Corpus, settings: ManuscriptSettings) -> None:
        self.corpus, self.settings = corpus, settings

    def sentences(self, queries: Sequence[Query]) -> list[list[str]]:
        """The sentences of each query's manuscript, without citation marks; none of a query without a gap."""
        result: list[list[str]] = [[] for _ in queries]
        local = [i for i, query in enumerate(queries) if query.is_local]
        if not local:
            return result
        reader = _SentenceNumbers()
        settings = self.settings
        inputs = EncoderInputs(reader, settings.contexts, title=settings.title, sentences=QUERY_SENTENCES)
        documents = inputs.gaps([queries[i] for i in local], self.corpus)
        numbers = documents.ids.tolist()
        for i, (start, end) in zip(local, pairwise(documents.documents.tolist()), strict=True):
            result[i] = [
                reader.sentences[number] for number in numbers[start:end] if reader.sentences[number]
            ]
        return result

    def words(self, reader: ParagraphReader, queries: Sequence[Query]) -> Paragraphs:
        """The known words of each query's manuscript; those of a sentence are read up to the limit of an abstract."""
        groups = self.sentences(queries)
        texts = [sentence for group in groups for sentence in group]
        read = only_words(reader.read(pa.array(texts, pa.string()), ABSTRACT))
        ends = np.concatenate([[0], np.cumsum([len(group) for group in groups], dtype=np.int64)])
        return Paragraphs(read.indptr[ends], read.tokens)

    def widened(self, queries: Sequence[Query]) -> list[Query]:
        """The queries with their manuscripts' sentences behind their contexts."""
        return [
            replace(query, context=" ".join([query.context, *sentences]))
            for query, sentences in zip(queries, self.sentences(queries), strict=True)
        ]


class _SentenceNumbers(SentenceReader):
    """Gives each sentence one token, its number, so that a document says which sentences it is of.

    Attributes:
        sentences: by their numbers; the first, which ends documents that have none, is empty.
    """

    def __init__(self) -> None:
        self.sentences, self.end = [""], 0
        self.tokenizer = SimpleNamespace(eos_token_id=self.end)

    def tokens(self, sentences: Sequence[str]) -> TokenLists:
        first, count = len(self.sentences), len(sentences)
        self.sentences += sentences
        ids: NDArray[np.int32] = np.arange(first, first + count, dtype=np.int32)
        return TokenLists(ids, np.arange(count), np.ones(count, np.int64))

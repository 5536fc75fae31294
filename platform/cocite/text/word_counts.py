"""Counts in how many texts of a history each word occurs, which a vocabulary of words is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cocite.corpus.history import History
from cocite.text.vocabulary import DocumentCounts, words


def count_words(
    history: History, *, bodies: bool, advance: Callable[[int], object] = lambda _: None
) -> DocumentCounts:
    """Count in how many texts of a history's papers each word occurs.

    A text is a title with its abstract, a context, or with ``bodies`` a sentence of a body.

    Args:
        history: whose papers are read.
        bodies: whether their bodies are.
        advance: is called with the number of texts that were just counted, or left out as not of the history.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> counts = count_words(History.all(starter_corpus()), bodies=False)
        >>> counts.vocabulary(size=5).types
        ('the', 'of', 'a', 'and', 'with')
    """
    counts, corpus = DocumentCounts(), history.corpus
    start = 0
    for batch in corpus.papers.table.to_batches():
        known = batch.filter(pa.array(history.citing[start : start + len(batch)]))
        start += len(batch)
        counts.add(
            words(
                pc.binary_join_element_wise(
                    known["title"].fill_null(""), known["abstract"].fill_null(""), " "
                )
            )
        )
        advance(len(batch))
    start = 0
    for chunk in corpus.contexts.table.column("text").chunks:
        owner = np.asarray(corpus.context_citing[start : start + len(chunk)])
        start += len(chunk)
        counts.add(words(chunk.filter(pa.array(history.citing[owner]))))
        advance(len(chunk))
    for chunk in body_sentences(history) if bodies else ():
        counts.add(words(chunk))
        advance(len(chunk))
    return counts


def body_sentences(history: History) -> Iterable[pa.Array]:
    """The body sentences of a history's papers, in chunks.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> list(body_sentences(History.all(starter_corpus())))  # it has no bodies
        []
    """
    corpus = history.corpus
    owner = np.repeat(history.citing, np.diff(corpus.sentence_indptr))
    start = 0
    for chunk in corpus.sentences.table.column("text").chunks:
        known = owner[start : start + len(chunk)]
        start += len(chunk)
        if known.any():
            yield chunk.filter(pa.array(known))

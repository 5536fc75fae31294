"""What an index holds of a corpus: the texts of papers and contexts, and the papers' vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.protocols import CountingEncoder, Embedding, Encoder, require_finite
from cocite.text.gaps import blank_marks

FIELDS = ("text", "title", "abstract")
"""Fields of a paper with a BM25 index of their own; ``text`` is title and abstract."""

INSIDE = {"title": "text", "windows": "contexts", "near": "whole"}
"""The fields of papers and contexts whose words all stand in another field, which stores their counts beside its own.
``windows`` are the words next to the gaps; ``whole`` and ``near`` what all contexts and windows say of a paper."""

ENCODE = 512
"""Papers encoded at a time: enough to keep all cores busy, and a small BERT's bar moves every few seconds."""

Advance = Callable[[int], None]
"""Receives how many texts or vectors were made since its last call."""


def ignore_progress(count: int) -> None:
    """The :data:`Advance` of a caller who shows no progress."""


def paper_texts(corpus: Corpus, name: str, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """The text of one of :data:`FIELDS` of the papers ``start : stop``, in order; empty where a paper has none.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> next(paper_texts(starter_corpus(), "title", start=1))
        'Bibliographic Coupling Between Scientific Papers'
    """
    if name == "text":
        titles, abstracts = (paper_texts(corpus, part, start, stop) for part in ("title", "abstract"))
        return (f"{title} {abstract}" for title, abstract in zip(titles, abstracts, strict=True))
    column = corpus.papers.table.column(name).slice(start, None if stop is None else stop - start)
    return (text or "" for chunk in column.chunks for text in chunk.to_pylist())


def titles_and_abstracts(corpus: Corpus, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """The title and the abstract of each of the papers ``start : stop``, one after the other.

    Words are numbered in this order, in which they have the same numbers wherever the papers are divided.
    """
    titles, abstracts = (paper_texts(corpus, name, start, stop) for name in ("title", "abstract"))
    return chain.from_iterable(zip(titles, abstracts, strict=True))


def context_texts(
    corpus: Corpus, positions: NDArray[np.int64], form: Callable[[str], str] = blank_marks
) -> Iterator[str]:
    """The texts of some citation contexts, in the order of the corpus.

    Args:
        corpus: the store.
        positions: of the contexts in ``corpus.contexts``.
        form: makes of each context what is indexed; by default all of it but citation marks.
    """
    first, last = (int(positions.min()), int(positions.max()) + 1) if len(positions) else (0, 0)
    chosen = np.zeros(last - first, bool)
    chosen[positions - first] = True
    column = corpus.contexts.table.column("text").slice(first, last - first)
    texts = chain.from_iterable(chunk.to_pylist() for chunk in column.chunks)
    return (form(text) for text, wanted in zip(texts, chosen, strict=True) if wanted)


def encode(
    corpus: Corpus,
    encoder: Encoder,
    *,
    start: int = 0,
    stop: int | None = None,
    advance: Advance | None = None,
) -> NDArray[np.float32]:
    """(n, d) vectors of the papers ``start : stop``; ``advance`` receives the number of papers encoded.

    Raises:
        IntegrityError: a component of a vector is not finite.
    """
    return embed(corpus, encoder, start=start, stop=stop, advance=advance).vectors


def embed(
    corpus: Corpus,
    encoder: Encoder,
    *,
    start: int = 0,
    stop: int | None = None,
    advance: Advance | None = None,
) -> Embedding:
    """What :func:`encode` returns, with the tokens and operations that it took, where the encoder counts them."""
    stop = len(corpus) if stop is None else stop
    result = np.empty((stop - start, encoder.dimension), np.float32)
    tokens, flops = 0, 0.0
    for first in range(start, stop, ENCODE):
        rows = np.arange(first, min(first + ENCODE, stop), dtype=np.int32)
        made = _embedded(corpus, encoder, rows)
        require_finite(made.vectors, encoder.name, "vectors of papers")
        result[rows - start] = made.vectors
        tokens, flops = tokens + made.tokens, flops + made.flops
        if advance:
            advance(len(rows))
    return Embedding(result, tokens, flops)


def _embedded(corpus: Corpus, encoder: Encoder, rows: NDArray[np.int32]) -> Embedding:
    if isinstance(encoder, CountingEncoder):
        return encoder.embed_papers(corpus, rows)
    return Embedding(encoder.encode_papers(corpus, rows))


def with_progress(texts: Iterator[str], advance: Advance, every: int = 1000) -> Iterator[str]:
    """The same texts; calls ``advance`` after ``every`` of them, and for the rest at the end.

    Example:
        >>> counts = []
        >>> "".join(with_progress(iter("abcde"), counts.append, every=2)), counts
        ('abcde', [2, 2, 1])
    """
    count = 0
    for text in texts:
        yield text
        count += 1
        if count == every:
            advance(count)
            count = 0
    advance(count)
